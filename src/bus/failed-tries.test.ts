/** Tries that fail: heard of at once, of each group one a minute. */
import { describe, expect, it } from "vitest";
import { forever, useBench } from "../../test/support/bus-bench.js";
import { settled } from "../../test/support/eventually.js";
import { fail } from "../../test/support/failing-handlers.js";
import { memoryStore } from "../stores/memory/index.js";
import { createBus } from "./create-bus.js";

const bench = useBench();
/** Half a second before the second try, an hour before the third. */
const RETRY = { baseMs: 500, maxMs: 3_600_000, factor: 7_200, jitter: 0 };

const messages = (): unknown[] => bench().troubles.map(({ error }) => error.message);

describe("a try that fails", () => {
  it("P8: is told of at once, with group, topic, key, try, error and when it is tried again", async () => {
    const bus = await bench().bus();
    const thrown = new TypeError("no items");
    await bus.subscribe("t.a", "mailer", () => Promise.reject(thrown), { retry: RETRY });
    const { id } = await bus.publish("t.a", 1, { key: "ada" });
    await settled();
    expect(bench().troubles).toMatchObject([
      {
        ...{ topic: "t.a", group: "mailer", partition: 0 },
        error: {
          ...{ code: "HANDLER_FAILED", cause: thrown },
          details: { id, key: "ada", attempt: 1, maxAttempts: 5, retryInMs: 500 },
        },
      },
    ]);
    expect(bench().troubles[0]).not.toHaveProperty("givenUp");
    expect(messages()).toEqual([
      `mailer failed on event ${id} (key "ada") of t.a, try 1 of 5, to be tried again in 500 ms`,
    ]);
  });

  it("of each group one a minute is told, with how many there were, however many topics it reads", async () => {
    const bus = await bench().bus();
    for (const group of ["g1", "g2"])
      await bus.subscribe(["t.a", "t.b"], group, fail, { retry: RETRY, maxAttempts: 9 });
    for (let n = 0; n < 100; n++) await bus.publish(n % 2 ? "t.a" : "t.b", n);
    await settled();
    expect(bench().troubles.map(({ group }) => group)).toEqual(["g1", "g2"]);
    await bench().advance(59_000);
    expect(bench().troubles).toHaveLength(2);
    await bench().advance(3_600_000);
    const later = bench().troubles.slice(2);
    expect(later.map(({ group }) => group).sort()).toEqual(["g1", "g2"]);
    for (const { error } of later) {
      expect(error.details).toMatchObject({ attempt: 3, leftOut: 199 });
      expect(error.message).toMatch(/, try 3 of 9, .* \(and 199 more like it\)$/);
    }
  });

  it("counts no tries where an event is never given up", async () => {
    const bus = await bench().bus();
    await bus.subscribe("t.a", "g", fail, { maxAttempts: 1, deadLetter: false, retry: RETRY });
    const { id } = await bus.publish("t.a", 1);
    await settled();
    expect(messages()).toEqual([`g failed on event ${id} of t.a, try 1, to be tried again in 500 ms`]);
  });

  it("P6: is also one that is not acknowledged in time", async () => {
    const bus = await bench().bus();
    await bus.subscribe("t.a", "g", forever, { ackTimeoutMs: 1_000, retry: RETRY });
    await bus.publish("t.a", 1);
    await bench().advance(1_001);
    expect(bench().troubles).toMatchObject([
      { error: { cause: "not acknowledged within 1000 ms", details: { attempt: 1 } } },
    ]);
  });

  it("is also a batch that fails, of which halves are tried", async () => {
    const bus = await bench().bus();
    await bus.publishMany(
      "t.a",
      [1, 2, 3, 4].map((payload) => ({ payload })),
    );
    await bus.subscribeBatch("t.a", "g", fail, { from: "earliest", batchSize: 4, retry: RETRY });
    await settled();
    expect(messages()).toEqual([
      expect.stringMatching(/^g failed on a batch of 4 with event .* of t\.a, to be tried again in halves$/),
    ]);
  });

  it("counts a batch that fails as one, however many events are in it", async () => {
    const bus = await bench().bus();
    await bus.publishMany(
      "t.a",
      [1, 2, 3, 4].map((payload) => ({ payload })),
    );
    let calls = 0;
    const handler = (): never => {
      calls++;
      return fail();
    };
    await bus.subscribeBatch("t.a", "g", handler, { from: "earliest", batchSize: 4, retry: RETRY });
    await settled();
    expect(calls).toBe(1 + 2 + 4);
    await bench().advance(3_600_500);
    expect(bench().troubles).toHaveLength(2);
    expect(bench().troubles[1]?.error.details).toMatchObject({ attempt: 3, leftOut: 2 + 4 + 4 });
  });

  it("is none if an event is only given back, since its subscriber leaves", async () => {
    const bus = await bench().bus({ drainMs: 100 });
    const stop = await bus.subscribe("t.a", "g", forever);
    await bus.publish("t.a", 1);
    await settled();
    const stopped = stop();
    await bench().advance(200);
    await stopped;
    expect(messages()).toEqual([]);
  });

  it("is a warning of the process where nobody listens, for each group", async () => {
    const warnings: string[] = [];
    const listen = (warning: Error): void => void warnings.push(warning.message);
    process.on("warning", listen);
    const bus = await createBus({ store: memoryStore(), clock: bench().clock });
    for (const group of ["g1", "g2"]) await bus.subscribe("t.a", group, fail, { retry: RETRY });
    const { id } = await bus.publish("t.a", 1);
    await bus.publish("t.a", 2);
    await bench().advance(1_000);
    await bus.close();
    process.off("warning", listen);
    const rest = `failed on event ${id} of t.a, try 1 of 5, to be tried again in 500 ms: boom`;
    expect(warnings.filter((text) => text.startsWith("g"))).toEqual([`g1 ${rest}`, `g2 ${rest}`]);
  });
});
