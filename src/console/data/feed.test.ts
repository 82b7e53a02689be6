import { describe, expect, it, vi } from "vitest";
import { Feed } from "./feed.js";
import { Problem } from "./problem.js";

interface Question {
  readonly over: AbortSignal;
  answer(value: string): void;
  fail(status: number): void;
}

const ONCE = { everyMs: Number.POSITIVE_INFINITY };

function hub(o: { readonly isRunning?: boolean } = {}) {
  const asked: Question[] = [];
  const problems: number[] = [];
  const feed = new Feed<string>(
    (over) =>
      new Promise((resolve, reject) => {
        over.addEventListener("abort", () => reject(new DOMException("given up", "AbortError")));
        asked.push({
          over,
          answer: resolve,
          fail: (status) => reject(new Problem(status, "ERROR", "no")),
        });
      }),
    {
      isRunning: (always) => always || (o.isRunning ?? true),
      heard: () => undefined,
      failed: ({ status }) => void problems.push(status),
    },
  );
  const question = async (number: number): Promise<Question> => {
    await expect.poll(() => asked.length).toBeGreaterThan(number);
    return asked[number] as Question;
  };
  const shows = (): string | undefined => feed.state.value.data;
  return { feed, asked, problems, question, shows };
}

describe("a feed", () => {
  it("asks once more after an answer that was on its way when somebody wanted to know anew", async () => {
    const { feed, question, shows } = hub();
    const leave = feed.watch(ONCE);
    const first = await question(0);
    feed.refresh();
    // Its timer has fired before this one: a question that is under way must not swallow it.
    await new Promise((resolve) => setTimeout(resolve, 1));
    first.answer("old");
    (await question(1)).answer("new");
    await expect.poll(shows).toBe("new");
    leave();
  });

  it("asks when somebody wants to know, also while live updates are off", async () => {
    const { feed, question, shows } = hub({ isRunning: false });
    const leave = feed.watch({ everyMs: 1 });
    (await question(0)).answer("first");
    await expect.poll(shows).toBe("first");
    feed.refresh();
    (await question(1)).answer("second");
    await expect.poll(shows).toBe("second");
    leave();
  });

  it("goes on while live updates are off only for those who wait for it", async () => {
    const { feed, question } = hub({ isRunning: false });
    const leave = feed.watch({ everyMs: 1, always: true });
    (await question(0)).answer("running");
    (await question(1)).answer("done");
    leave();
  });

  it("leaves a hub alone that takes long to answer, or refuses", async () => {
    vi.useFakeTimers();
    try {
      const { feed, asked } = hub();
      const leave = feed.watch({ everyMs: 1_000 });
      await vi.advanceTimersByTimeAsync(3_000);
      asked[0]?.answer("late");
      await vi.advanceTimersByTimeAsync(11_999);
      expect(asked).toHaveLength(1);
      await vi.advanceTimersByTimeAsync(1);
      asked[1]?.answer("at once");
      await vi.advanceTimersByTimeAsync(1_000);
      expect(asked).toHaveLength(3);
      asked[2]?.fail(403);
      await vi.advanceTimersByTimeAsync(59_000);
      expect(asked).toHaveLength(3);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(asked).toHaveLength(4);
      leave();
    } finally {
      vi.useRealTimers();
    }
  });

  it("keeps what it shows when the hub stumbles, and takes it away when the hub refuses", async () => {
    const { feed, question, problems } = hub();
    const leave = feed.watch({ everyMs: 1 });
    (await question(0)).answer("shown");
    (await question(1)).fail(500);
    await expect.poll(() => feed.state.value.problem?.status).toBe(500);
    expect(feed.state.value.data).toBe("shown");
    (await question(2)).fail(403);
    await expect.poll(() => feed.state.value.problem?.status).toBe(403);
    expect(feed.state.value.data).toBeUndefined();
    expect(problems).toEqual([500, 403]);
    leave();
  });

  it("gives up its question when the last one leaves, and tells nobody of a problem", async () => {
    const { feed, question, problems, asked } = hub();
    feed.watch(ONCE)();
    expect(asked).toHaveLength(0);
    const leave = feed.watch(ONCE);
    const { over } = await question(0);
    leave();
    await expect.poll(() => over.aborted).toBe(true);
    const back = feed.watch(ONCE);
    (await question(1)).answer("again");
    await expect.poll(() => feed.state.value.data).toBe("again");
    expect(problems).toEqual([]);
    back();
  });

  it("keeps its question for the next one who comes in the same turn", async () => {
    const { feed, question, shows } = hub();
    const leave = feed.watch(ONCE);
    const first = await question(0);
    leave();
    const stay = feed.watch(ONCE);
    first.answer("one answer for both");
    await expect.poll(shows).toBe("one answer for both");
    expect(first.over.aborted).toBe(false);
    stay();
  });
});
