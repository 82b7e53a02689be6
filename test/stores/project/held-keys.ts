/** Keys held behind a dead letter, on every store: who waits, restarts, redrive in order, discard. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Bus } from "../../../src/bus/bus.js";
import type { Stop } from "../../../src/model/event-bus.js";
import { jumpHash } from "../../../src/model/partition.js";
import { deadLetters, discardDeadLetters } from "../../../src/project/letters/dead-letters.js";
import { redrive } from "../../../src/project/letters/redrive.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import type { ProjectBench } from "./bench.js";

const GROUP = "keeper";

export function describeHeldKeys(bench: ProjectBench): void {
  const openLetters = async (topic: string): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const letter of deadLetters(bench.bus, topic)) found.push(letter.event.payload);
    return found;
  };

  /** Fails on what is in `broken`; notes what it handled. */
  const keeper = (on: Bus, topic: string, broken: Set<unknown>, handled: unknown[]): Promise<Stop> =>
    on.subscribe(
      topic,
      GROUP,
      ({ payload }) => {
        if (broken.has(payload)) throw new Error(`cannot take ${payload}`);
        handled.push(payload);
      },
      { from: "earliest", maxAttempts: 1, deadLetter: "hold" },
    );

  const publishAll = async (topic: string, payloads: readonly string[]): Promise<void> => {
    for (const payload of payloads) await bench.bus.publish(topic, payload, { key: payload.charAt(0) });
  };

  const why = (topic: string) => bench.bus.admin.why({ topic, group: GROUP });

  describe("held keys", () => {
    it("P4: newer events of a dead-lettered key wait behind it, seen with depth and age, and are redriven in order", async () => {
      const topic = await bench.topic({ partitions: 2 });
      const broken = new Set<unknown>(["a1"]);
      const handled: unknown[] = [];
      const stop = await keeper(bench.bus, topic, broken, handled);
      await publishAll(topic, ["a1", "a2", "b1", "a3"]);
      await bench.drained(topic, GROUP);
      expect(handled).toEqual(["b1"]);
      expect(await openLetters(topic)).toEqual(["a1", "a2", "a3"]);
      expect(await why(topic)).toMatchObject({ lag: 0, held: [{ key: "a", depth: 3 }] });
      expect((await why(topic))?.sentence).toMatch(/3 events of key a wait/);
      broken.clear();
      expect(await redrive(bench.bus, { topic })).toMatchObject({ redriven: 3 });
      await publishAll(topic, ["a4"]);
      await expect.poll(() => handled).toEqual(["b1", "a1", "a2", "a3", "a4"]);
      expect((await why(topic))?.held).toEqual([]);
      await stop();
    });

    it("P4: survives a restart, and a letter that fails again keeps its place", async () => {
      const topic = await bench.topic();
      const broken = new Set<unknown>(["a1", "a2"]);
      const handled: unknown[] = [];
      const first = await keeper(bench.bus, topic, broken, handled);
      await publishAll(topic, ["a1", "a2"]);
      await bench.drained(topic, GROUP);
      await first();
      await publishAll(topic, ["a3"]);
      const second = await keeper(await bench.secondBus(), topic, broken, handled);
      await bench.drained(topic, GROUP);
      expect(await openLetters(topic)).toEqual(["a1", "a2", "a3"]);
      broken.delete("a1");
      expect(await redrive(bench.bus, { topic })).toMatchObject({ held: 1 });
      await bench.drained(topic, GROUP);
      expect(handled).toEqual(["a1"]);
      expect((await openLetters(topic)).sort()).toEqual(["a2", "a3"]);
      broken.clear();
      const again = await redrive(bench.bus, { topic });
      expect(again.held).toBeUndefined();
      expect(handled).toEqual(["a1", "a2", "a3"]);
      await second();
    });

    it("P4: redrive while the key is written to without a pause keeps its order", async () => {
      const topic = await bench.topic();
      const broken = new Set<unknown>(["a0"]);
      const handled: unknown[] = [];
      const stop = await keeper(bench.bus, topic, broken, handled);
      const sent: string[] = [];
      let writing = true;
      const writer = (async () => {
        for (let i = 0; writing && i < 5_000; i++) {
          sent.push(`a${i}`);
          await bench.bus.publish(topic, `a${i}`, { key: "a" });
        }
      })();
      await expect.poll(() => sent.length).toBeGreaterThan(30);
      broken.clear();
      const result = await redrive(bench.bus, { topic });
      expect(result.held).toBeUndefined();
      writing = false;
      await writer;
      await expect.poll(() => handled.length).toBe(sent.length);
      expect(handled).toEqual(sent);
      await stop();
    });

    it("discarding the letters of a key sets it free; part of them only shortens the queue", async () => {
      const topic = await bench.topic();
      const broken = new Set<unknown>(["a1"]);
      const handled: unknown[] = [];
      const stop = await keeper(bench.bus, topic, broken, handled);
      await publishAll(topic, ["a1", "a2", "a3"]);
      await bench.drained(topic, GROUP);
      const filter = (letter: { event: { payload: unknown } }) => letter.event.payload === "a1";
      await discardDeadLetters(bench.bus, topic, { filter, reason: "wrong" });
      expect((await why(topic))?.held).toHaveLength(1);
      expect(await redrive(bench.bus, { topic, limit: 1 })).toMatchObject({ redriven: 1, held: 1 });
      await discardDeadLetters(bench.bus, topic, { reason: "enough" });
      await expect.poll(async () => (await why(topic))?.held).toEqual([]);
      await publishAll(topic, ["a4"]);
      await expect.poll(() => handled).toEqual(["a2", "a4"]);
      await stop();
    });

    it("discarding a letter that failed again sets its key free, or lets those behind it come back", async () => {
      const topic = await bench.topic();
      const broken = new Set<unknown>(["a1", "b1"]);
      const handled: unknown[] = [];
      const stop = await keeper(bench.bus, topic, broken, handled);
      await publishAll(topic, ["a1", "b1", "a2", "b2"]);
      await bench.drained(topic, GROUP);
      for (const key of ["a", "b"])
        expect(await redrive(bench.bus, { topic, key, limit: 1 })).toMatchObject({ redriven: 1, held: 1 });
      await bench.drained(topic, GROUP);
      await discardDeadLetters(bench.bus, topic, { key: "a", reason: "enough" });
      await expect.poll(async () => (await why(topic))?.held.map(({ key }) => key)).toEqual(["b"]);
      const again = (letter: { event: { payload: unknown } }) => letter.event.payload === "b1";
      await discardDeadLetters(bench.bus, topic, { key: "b", filter: again, reason: "enough" });
      expect((await redrive(bench.bus, { topic })).held).toBeUndefined();
      await publishAll(topic, ["a3", "b3"]);
      await expect.poll(() => handled).toEqual(["b2", "a3", "b3"]);
      await stop();
    });

    it("P8, P15: a key is set free also if what it was held for is not let into its topic any more", async () => {
      const topic = await bench.topic();
      const handled: unknown[] = [];
      const stop = await keeper(bench.bus, topic, new Set(["a1"]), handled);
      await publishAll(topic, ["a1", "a2"]);
      await bench.drained(topic, GROUP);
      await bench.bus.defineTopic({ name: topic, schema: z.object({ order: z.number() }) });
      expect(await discardDeadLetters(bench.bus, topic, { reason: "older than the schema" })).toBe(2);
      await expect.poll(async () => (await why(topic))?.held).toEqual([]);
      await bench.bus.publish(topic, { order: 3 }, { key: "a" });
      await expect.poll(() => handled).toEqual([{ order: 3 }]);
      await stop();
    });

    it("a key whose letters were discarded by one who died is set free by the next", async () => {
      const topic = await bench.topic();
      const broken = new Set<unknown>(["a1"]);
      const handled: unknown[] = [];
      const stop = await keeper(bench.bus, topic, broken, handled);
      await publishAll(topic, ["a1", "a2"]);
      await bench.drained(topic, GROUP);
      const died = new Error("the process died");
      const dying = interceptStore(bench.store, {
        around: (call, proceed) => (call.name === "log.append" ? Promise.reject(died) : proceed()),
      });
      const discarding = discardDeadLetters(bench.hostOn(dying), topic, { reason: "enough" });
      await expect(discarding).rejects.toBe(died);
      expect(await openLetters(topic)).toEqual([]);
      const stored = async () =>
        (await bench.store.groups.state({ topic, group: GROUP }, { nowMs: 0 }))?.leases[0]?.cursor.held;
      await expect.poll(stored).toMatchObject([{ key: "a" }]);
      expect(await discardDeadLetters(bench.bus, topic, { reason: "enough" })).toBe(0);
      await publishAll(topic, ["a3"]);
      await expect.poll(() => handled).toEqual(["a3"]);
      await stop();
    });

    it("P4: behind a letter that is not chosen, or is passed over, none of its key comes back", async () => {
      const topic = await bench.topic();
      const broken = new Set<unknown>(["a1"]);
      const handled: unknown[] = [];
      const stop = await keeper(bench.bus, topic, broken, handled);
      await publishAll(topic, ["a1", "a2", "a3", "a4"]);
      await bench.drained(topic, GROUP);
      broken.clear();
      const filter = (letter: { event: { payload: unknown } }) => letter.event.payload !== "a2";
      expect(await redrive(bench.bus, { topic, filter })).toMatchObject({ redriven: 1, held: 1 });
      const transform = ({ payload }: { payload: unknown }) => (payload === "a3" ? null : { payload });
      expect(await redrive(bench.bus, { topic, transform })).toMatchObject({
        redriven: 1,
        passedOver: 1,
        held: 1,
      });
      expect(await openLetters(topic)).toEqual(["a3", "a4"]);
      expect(handled).toEqual(["a1", "a2"]);
      await stop();
    });

    it("P4: letters that go to another topic go in order, and set their key free", async () => {
      const topic = await bench.topic();
      const elsewhere = await bench.topic();
      const broken = new Set<unknown>(["a1"]);
      const handled: unknown[] = [];
      const stop = await keeper(bench.bus, topic, broken, handled);
      await publishAll(topic, ["a1", "a2", "a3"]);
      await bench.drained(topic, GROUP);
      const half = { topic, to: elsewhere, limit: 2 };
      expect(await redrive(bench.bus, half)).toEqual({ topic, redriven: 2, passedOver: 0, superseded: 0 });
      expect(await openLetters(topic)).toEqual(["a3"]);
      expect((await why(topic))?.held).toHaveLength(1);
      expect(await redrive(bench.bus, { topic, to: elsewhere })).toMatchObject({ redriven: 1 });
      expect((await bench.events(elsewhere)).map(({ payload }) => payload)).toEqual(["a1", "a2", "a3"]);
      await expect.poll(async () => (await why(topic))?.held).toEqual([]);
      await publishAll(topic, ["a4"]);
      await expect.poll(() => handled).toEqual(["a4"]);
      await stop();
    });

    it("P4: what went to another topic is not waited for by those that come back behind it", async () => {
      const topic = await bench.topic();
      const elsewhere = await bench.topic();
      const broken = new Set<unknown>(["a1"]);
      const handled: unknown[] = [];
      const stop = await keeper(bench.bus, topic, broken, handled);
      await publishAll(topic, ["a1", "a2"]);
      await bench.drained(topic, GROUP);
      await redrive(bench.bus, { topic, to: elsewhere, limit: 1 });
      expect(await redrive(bench.bus, { topic })).toEqual({
        topic,
        redriven: 1,
        passedOver: 0,
        superseded: 0,
      });
      expect(handled).toEqual(["a2"]);
      expect((await why(topic))?.held).toEqual([]);
      await stop();
    });

    it("P4: letters come back to the partition that their events were put into by hand", async () => {
      const topic = await bench.topic({ partitions: 4 });
      const broken = new Set<unknown>(["a1"]);
      const handled: unknown[] = [];
      const stop = await keeper(bench.bus, topic, broken, handled);
      const partition = (jumpHash("a", 4) + 1) % 4;
      const put = (payload: string) => bench.bus.publish(topic, payload, { key: "a", partition });
      for (const payload of ["a1", "a2"]) await put(payload);
      await bench.drained(topic, GROUP);
      broken.clear();
      expect(await redrive(bench.bus, { topic })).toEqual({
        topic,
        redriven: 2,
        passedOver: 0,
        superseded: 0,
      });
      await put("a3");
      await expect.poll(() => handled).toEqual(["a1", "a2", "a3"]);
      broken.add("b1");
      await put("b1");
      await bench.drained(topic, GROUP);
      await discardDeadLetters(bench.bus, topic, { reason: "enough" });
      await put("a4");
      await expect.poll(() => handled).toEqual(["a1", "a2", "a3", "a4"]);
      await stop();
    });

    it("a group is of one mind, and needs order by key on a topic that is not compacted", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      const compacted = await bench.topic({ compaction: true });
      const ignore = (): void => undefined;
      const stop = await bus.subscribe(topic, GROUP, ignore);
      const hold = { deadLetter: "hold" } as const;
      const refusal = { code: "INVALID_OPTION" };
      await expect(bus.subscribe(topic, GROUP, ignore, hold)).rejects.toMatchObject(refusal);
      await expect(bus.subscribe(compacted, GROUP, ignore, hold)).rejects.toMatchObject(refusal);
      const unordered = { ...hold, ordering: "none" } as const;
      await expect(bus.subscribe(topic, "other", ignore, unordered)).rejects.toMatchObject(refusal);
      await stop();
    });
  });
}
