/** Events that are given up: one copy each, and the group goes on. */
import { describe, expect, it } from "vitest";
import { recorder, useBench } from "../../test/support/bus-bench.js";
import { settled } from "../../test/support/eventually.js";
import { fail, lettersOf, RETRY } from "../../test/support/failing-handlers.js";
import { deadLetterId } from "../model/derived-id.js";
import { Fatal } from "../model/errors.js";
import { defineTopic } from "../model/topic.js";
import { memoryStore } from "../stores/memory/index.js";
import { createBus } from "./create-bus.js";

const bench = useBench();

describe("dead letters", () => {
  it("P8: after maxAttempts exactly one copy stands in dlq.<topic>, with origin, error, attempts and the event", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: 4 })] });
    await bus.subscribe("t.p", "mailer", () => Promise.reject(new RangeError("too far")), {
      maxAttempts: 3,
      retry: RETRY,
    });
    const event = await bus.publish("t.p", { n: 1 }, { key: "k", headers: { "x-trace": "t1" } });
    await bench().advance(60_000);
    const letters = await lettersOf(bus, "t.p");
    expect(letters).toHaveLength(1);
    expect(letters[0]).toMatchObject({
      id: deadLetterId("t.p", "mailer", event.id),
      topic: "dlq.t.p",
      partition: event.partition,
      key: "k",
      ts: bench().clock.now() - 60_000 + 300,
      caused_by: [event.id],
      headers: { "x-trace": "t1", "x-dead-letter-topic": "t.p", "x-dead-letter-group": "mailer" },
      payload: {
        origin: { topic: "t.p", partition: event.partition, seq: 1, id: event.id, group: "mailer" },
        error: { message: "too far", name: "RangeError" },
        attempts: 3,
        event: { id: event.id, key: "k", payload: { n: 1 } },
      },
    });
    expect(await bus.getCursor("t.p", "mailer")).toMatchObject({
      partitions: expect.arrayContaining([
        expect.objectContaining({ partition: event.partition, floor: 1, lag: 0 }),
      ]),
    });
  });

  it("P8: whoever listens to troubles is told of it, with what was thrown", async () => {
    const bus = await bench().bus();
    const thrown = new TypeError("no items");
    await bus.subscribe("t.a", "mailer", () => Promise.reject(thrown), { maxAttempts: 2, retry: RETRY });
    const { id } = await bus.publish("t.a", 1);
    await bench().advance(60_000);
    const givenUp = bench().troubles.filter((trouble) => trouble.givenUp);
    expect(givenUp).toMatchObject([
      { topic: "t.a", group: "mailer", partition: 0, error: { code: "HANDLER_FAILED", cause: thrown } },
    ]);
    expect(givenUp[0]?.error.message).toBe(
      `mailer gave up event ${id} of t.a after 2 tries; it is a dead letter now`,
    );
  });

  it("P8: where nobody listens it is a warning of the process, once a minute", async () => {
    const warnings: string[] = [];
    const listen = (warning: Error): void => void warnings.push(warning.message);
    process.on("warning", listen);
    const bus = await createBus({ store: memoryStore(), clock: bench().clock });
    await bus.subscribe("t.a", "mailer", fail, { maxAttempts: 1 });
    const { id } = await bus.publish("t.a", 1);
    await bus.publish("t.a", 2);
    await bench().advance(1_000);
    await bus.close();
    process.off("warning", listen);
    expect(warnings.filter((text) => text.startsWith("mailer"))).toEqual([
      `mailer gave up event ${id} of t.a after one try; it is a dead letter now: boom`,
    ]);
  });

  it('P8: under deadLetter "hold" only the one that failed is told of, not those that wait behind it', async () => {
    const bus = await bench().bus();
    await bus.subscribe("t.a", "mailer", fail, { maxAttempts: 1, deadLetter: "hold" });
    for (const n of [1, 2, 3]) await bus.publish("t.a", n, { key: "k" });
    await bench().advance(1_000);
    expect(await lettersOf(bus, "t.a")).toHaveLength(3);
    expect(bench().troubles).toHaveLength(1);
  });

  it("P8: each group makes its own", async () => {
    const bus = await bench().bus();
    for (const group of ["g1", "g2"]) await bus.subscribe("t.a", group, fail, { maxAttempts: 1 });
    await bus.publish("t.a", 1);
    await settled();
    const letters = await lettersOf(bus, "t.a");
    expect(letters.map(({ payload }) => payload.origin.group).sort()).toEqual(["g1", "g2"]);
    expect(new Set(letters.map(({ id }) => id)).size).toBe(2);
  });

  it("P8: whatever is thrown, the copy is written: what cannot be read of it is left out", async () => {
    const bus = await bench().bus();
    const unreadable = Object.defineProperty(new Error("a"), "name", { get: fail });
    const thrown: unknown[] = [
      unreadable,
      Object.assign(new Error("b"), { name: 7n }),
      Object.assign(new Error("c"), { code: "e".repeat(1_000_000) }),
      Object.freeze(new Error("d")),
      null,
      undefined,
    ];
    await bus.subscribe("t.a", "g", ({ payload }) => Promise.reject(thrown[payload as number]), {
      maxAttempts: 1,
    });
    await bus.publishMany(
      "t.a",
      thrown.map((_, payload) => ({ payload })),
    );
    await bench().advance(1_000);
    const errors = (await lettersOf(bus, "t.a")).map(({ payload: { error } }) => error);
    expect(errors.map(({ message }) => message)).toEqual(["a", "b", "c", "d", "null", "undefined"]);
    expect(errors[2]?.code).toHaveLength(500);
    expect((await bus.getCursor("t.a", "g"))?.partitions).toMatchObject([{ floor: 6 }]);
  });

  it("P8: Fatal goes there at once, however many attempts are left, with its own message", async () => {
    const bus = await bench().bus();
    const { handler, seen } = recorder(() => {
      throw new Fatal("this will never work");
    });
    await bus.subscribe("t.a", "g", handler, { maxAttempts: 9 });
    await bus.publish("t.a", 1);
    await settled();
    expect(seen).toHaveLength(1);
    expect(await lettersOf(bus, "t.a")).toMatchObject([
      {
        payload: {
          attempts: 1,
          error: { message: "this will never work", name: "Fatal", code: "HANDLER_FAILED" },
        },
      },
    ]);
  });

  it("P4: its key goes on after it, in order; the others never waited", async () => {
    const bus = await bench().bus();
    const done: unknown[] = [];
    await bus.subscribe(
      "t.a",
      "g",
      (event) => {
        if (event.payload === "a1") fail();
        done.push(event.payload);
      },
      { maxAttempts: 2, retry: RETRY },
    );
    await bus.publishMany("t.a", [
      { payload: "a1", key: "a" },
      { payload: "a2", key: "a" },
      { payload: "b1", key: "b" },
      { payload: "a3", key: "a" },
    ]);
    await settled();
    expect(done).toEqual(["b1"]);
    await bench().advance(100);
    expect(done).toEqual(["b1", "a2", "a3"]);
  });

  it("P8: the cursor waits for the copy while the store refuses it, and one copy it stays", async () => {
    const { memoryStore } = await import("../stores/memory/index.js");
    const { faultyStore, scheduledFaults } = await import("../testing/faulty-store/index.js");
    // Publish is the first append; then the dead letter is refused, written unheard, and found again.
    const store = faultyStore(
      memoryStore(),
      scheduledFaults([
        { on: "log.append", nth: 2, fault: { type: "error-before" } },
        { on: "log.append", nth: 3, fault: { type: "error-after" } },
      ]),
    );
    const bus = await bench().bus({ store });
    await bus.subscribe("t.a", "g", fail, { maxAttempts: 1 });
    await bus.publish("t.a", 1);
    await settled();
    expect(await bus.getCursor("t.a", "g")).toMatchObject({ partitions: [{ floor: 0 }] });
    await bench().advance(5_000);
    expect(await bus.getCursor("t.a", "g")).toMatchObject({ partitions: [{ floor: 1 }] });
    expect(await lettersOf(bus, "t.a")).toHaveLength(1);
    expect(bench().troubles).toMatchObject([
      { topic: "t.a", group: "g", error: { code: "STORE_UNAVAILABLE" } },
      { topic: "t.a", group: "g", error: { code: "OUTCOME_UNKNOWN" } },
      { topic: "t.a", group: "g", error: { code: "HANDLER_FAILED" } },
    ]);
  });

  it("can be turned off: then an event is tried until it works", async () => {
    const bus = await bench().bus();
    const { handler, seen } = recorder((_event, ctx) => {
      if (ctx.attempt < 12) throw ctx.attempt % 2 === 0 ? new Fatal("not even so") : new Error("no");
    });
    await bus.subscribe("t.a", "g", handler, { deadLetter: false, maxAttempts: 2, retry: RETRY });
    await bus.publish("t.a", 1);
    await bench().advance(20_000);
    expect(seen).toHaveLength(12);
    expect(await bus.getCursor("t.a", "g")).toMatchObject({ partitions: [{ floor: 1 }] });
  });

  it("an error whose properties cannot be read, or an event of any size, is no obstacle", async () => {
    const bus = await bench().bus();
    const nasty = new Error("nasty");
    Object.defineProperty(nasty, "stack", { value: { toString: fail } });
    await bus.subscribe("t.a", "g", () => Promise.reject(nasty), { maxAttempts: 1 });
    await bus.publish("t.a", "x".repeat(1_000_000));
    await settled();
    expect(await lettersOf(bus, "t.a")).toMatchObject([{ payload: { error: { message: "nasty" } } }]);
  });
});
