import { describe, expect, it } from "vitest";
import { pause, readEvents } from "./event-stream.js";

/** Answers at once, says what it is given, and then nothing more, until it is given up. */
function silentAfter(...words: readonly string[]): (over: AbortSignal) => Promise<Response> {
  return async (over) =>
    new Response(
      new ReadableStream({
        start(controller) {
          for (const word of words) controller.enqueue(new TextEncoder().encode(word));
          over.addEventListener("abort", () => controller.error(over.reason));
        },
      }),
    );
}

const never = new AbortController().signal;

describe("a stream", () => {
  it("that has fallen silent is given up, though its line stays open", async () => {
    const told: string[] = [];
    const reading = readEvents(silentAfter("data: 1\n\n"), {
      over: never,
      silenceMs: 20,
      onEvent: (data) => told.push(data),
    });
    await expect(reading).rejects.toThrow();
    expect(told).toEqual(["1"]);
  });

  it("that is never answered is given up, too", async () => {
    const unanswered = (over: AbortSignal): Promise<Response> =>
      new Promise((_, reject) => over.addEventListener("abort", () => reject(over.reason)));
    await expect(
      readEvents(unanswered, { over: never, silenceMs: 5, onEvent: () => undefined }),
    ).rejects.toThrow();
  });

  it("is waited for no longer than somebody looks", async () => {
    const over = new AbortController();
    const waiting = pause(600_000, over.signal);
    over.abort();
    await waiting;
    await pause(600_000, over.signal);
  });
});
