/** Replay on every store: topic to topic, and moving a group. */
import { describe, expect, it } from "vitest";
import { BusError, Fatal } from "../../../src/model/errors.js";
import type { EventRecord } from "../../../src/model/event.js";
import { JsonBody } from "../../../src/model/json.js";
import { compactNow } from "../../../src/project/history/compactor.js";
import { redrive } from "../../../src/project/letters/redrive.js";
import type { Position } from "../../../src/project/topic-position.js";
import { replay } from "../../../src/project/transfer/replay.js";
import { draft } from "../../support/stored-events.js";
import type { ProjectBench } from "./bench.js";
import { finalState, traffic } from "./traffic.js";

export function describeReplay(bench: ProjectBench): void {
  const numbered = (count: number, firstTs = 1_000) =>
    Array.from({ length: count }, (_, i) => ({ key: `k${i % 3}`, payload: { n: i + 1 }, ts: firstTs + i }));
  const numbers = async (topic: string): Promise<number[]> =>
    (await bench.events(topic)).map(({ payload }) => (payload as { n: number }).n);

  describe("replay from topic to topic", () => {
    it("copies events with all they have, each key in its order, and again adds nothing", async () => {
      const [from, to] = [await bench.topic({ partitions: 3 }), await bench.topic({ partitions: 2 })];
      await bench.publish(from, traffic({ events: 1_200, keys: 10 }));
      await bench.publish(from, [{ key: "x", payload: 1, headers: { "x-a": "b" }, tags: ["t"], sid: "s" }]);
      const result = await replay(bench.bus, { from: { topic: from, position: "earliest" }, to });
      expect(result).toMatchObject({ read: 1_201, events: 1_201, duplicates: 0, complete: true });
      const [sources, copies] = [await bench.events(from), await bench.events(to)];
      const byKey = (events: readonly EventRecord[], key: string): unknown =>
        events
          .filter((e) => e.key === key)
          .sort((a, b) => a.seq - b.seq)
          .map((e) => e.payload);
      for (let k = 0; k < 10; k++) expect(byKey(copies, `k${k}`)).toEqual(byKey(sources, `k${k}`));
      const last = sources.find(({ key }) => key === "x");
      expect(copies.find(({ key }) => key === "x")).toMatchObject({
        headers: { "x-a": "b" },
        tags: ["t"],
        sid: "s",
        ts: last?.ts,
        caused_by: [last?.id],
      });
      const again = await replay(bench.bus, { from: { topic: from }, to });
      expect(again).toMatchObject({ events: 1_201, duplicates: 1_201 });
      expect(await bench.events(to)).toHaveLength(1_201);
    });

    it("P3: passes payloads on in their very text, however odd; copied as a value before, they are the same", async () => {
      const [from, to, before] = [await bench.topic(), await bench.topic(), await bench.topic()];
      const deep = `${"[".repeat(64)}1${"]".repeat(64)}`;
      const texts = [
        ...["null", '""', "0", "-0", "1.0", "1E2", "12345678901234567890", "[]", "{}", "false"],
        ...['{"a":1,"a":2}', '{"__proto__":{"x":1},"b":2}', '{"b":1,"a":[ 1,\t2 ]}\n', '"\\ud800"'],
        ...['"\\u00e4ä𝄞\\ud834\\udd1e"', '{"\\u0061":"\\"]]}"}', '["\\\\",["\\/"]]', deep],
        JSON.stringify("ä".repeat(200_000)),
      ];
      const drafts = texts.map((text, n) =>
        draft(`${from}/${n}`, null, { body: JsonBody.ofText(text), key: `k${n}`, ts: n }),
      );
      await bench.store.log.append(from, 0, drafts);
      const textsOf = async (topic: string): Promise<string[]> =>
        (await bench.store.log.read(topic, 0, { after: 0, limit: 100 })).events.map(({ body }) => body.text);
      expect(await replay(bench.bus, { from, to })).toMatchObject({ events: texts.length, duplicates: 0 });
      expect(await textsOf(to)).toEqual(texts);
      const none = { events: texts.length, duplicates: texts.length };
      for (const map of [undefined, () => ({})])
        expect(await replay(bench.bus, { from, to, ...(map && { map }) })).toMatchObject(none);
      await replay(bench.bus, { from, to: before, map: () => ({}) });
      expect(await replay(bench.bus, { from, to: before })).toMatchObject(none);
      const payloads = async (topic: string): Promise<unknown[]> =>
        (await bench.events(topic)).map(({ payload }) => payload);
      expect(await payloads(to)).toEqual(await payloads(from));
    });

    it("copies an event once, although it came back for a group that had given it up", async () => {
      const { bus } = bench;
      for (const [compaction, isGone] of [[false], [true, false], [true, true]]) {
        const [from, to] = [await bench.topic({ compaction: compaction === true }), await bench.topic()];
        let works = false;
        const handler = (): void => {
          if (!works) throw new Fatal("not now");
        };
        const stop = await bus.subscribe(from, "g", handler, { from: "earliest" });
        await bench.publish(from, [{ key: "a", payload: { n: 1 }, headers: { "x-a": "b" } }]);
        await bench.drained(from, "g");
        works = true;
        expect(await redrive(bus, { topic: from })).toMatchObject({ redriven: 1 });
        await bench.drained(from, "g");
        await stop();
        // What an older version compacted: the event that came back is all there is.
        if (isGone) await bench.store.log.remove(from, 0, [1]);
        expect(await replay(bus, { from, to })).toMatchObject({ events: 1, complete: true });
        const copies: unknown[] = [];
        const group = compaction ? "others" : "g";
        const stopCopies = await bus.subscribe(to, group, ({ headers }) => void copies.push(headers), {
          from: "earliest",
        });
        await bench.drained(to, group);
        await stopCopies();
        expect(copies).toEqual([{ "x-a": "b" }]);
      }
    });

    it.each([
      ["as they are", undefined],
      ["mapped to one key", { map: () => ({ key: "one" }) }],
    ])("P11: %s into a compacted topic: repeated, it brings no older value back", async (_, mapping) => {
      const [from, to] = [await bench.topic({ partitions: 2 }), await bench.topic({ compaction: true })];
      const copy = () => replay(bench.bus, { from, to, ...mapping });
      const newest = async (): Promise<unknown> => {
        await compactNow(bench.bus, { topic: to, snapshot: false, pauseMs: 0 });
        return finalState(await bench.events(to));
      };
      const ts = Date.now();
      const put = (n: number) => ({
        key: n % 2 === 0 ? "a" : "b",
        payload: { n },
        ts: ts + n,
        partition: n % 2,
      });
      await bench.publish(from, [{ payload: { keyless: true }, ts }, put(1), put(2), put(3), put(4)]);
      expect(await copy()).toMatchObject({ events: 5, duplicates: 0, passedOver: 0 });
      const first = await newest();
      const again = await copy();
      expect(again.events).toBe(again.duplicates);
      expect(again.events + again.passedOver).toBe(5);
      expect(await newest()).toEqual(first);
      await bench.publish(from, [put(5), put(6)]);
      const more = await copy();
      expect(more.events - more.duplicates).toBe(2);
      const last = mapping === undefined ? { a: { n: 6 }, b: { n: 5 } } : { one: { n: 6 } };
      expect(await newest()).toEqual(last);
    });

    it("takes a filter and a map, and shows by a dry run what it would do", async () => {
      const [from, to] = [await bench.topic(), await bench.topic()];
      await bench.publish(from, numbered(10));
      const options = {
        from: { topic: from, position: { seq: 4 } as Position },
        to,
        filter: ({ payload }: EventRecord) => (payload as { n: number }).n !== 6,
        map: ({ payload, key }: EventRecord) => {
          const { n } = payload as { n: number };
          return n === 9 ? null : { payload: { n: n * 10 }, key: `new-${key}` };
        },
      };
      const preview = await replay(bench.bus, { ...options, dryRun: true });
      expect(preview).toMatchObject({ read: 7, events: 5, passedOver: 2 });
      expect(await bench.events(to)).toEqual([]);
      expect(await replay(bench.bus, options)).toMatchObject({ read: 7, events: 5, passedOver: 2 });
      expect(await numbers(to)).toEqual([40, 50, 70, 80, 100]);
      expect((await bench.events(to))[0]?.key).toBe("new-k0");
    });

    it.each<[string, (events: readonly EventRecord[]) => Position, number]>([
      ["earliest", () => "earliest", 1],
      ["latest", () => "latest", 11],
      ["a time", () => ({ ts: 1_004 }), 5],
      ["an id", (events) => ({ id: events[6]?.id ?? "" }), 7],
      ["a seq", () => ({ seq: 3 }), 3],
      ["a seq of a partition", () => ({ seq: 3, partition: 0 }), 3],
      ["floors", () => ({ floors: [8] }), 9],
    ])("begins at %s", async (_, position, first) => {
      const [from, to] = [await bench.topic(), await bench.topic()];
      const events = await bench.publish(from, numbered(10));
      await replay(bench.bus, { from: { topic: from, position: position(events) }, to });
      expect(await numbers(to)).toEqual(Array.from({ length: 11 - first }, (_, i) => first + i));
    });

    it("keeps to a rate, shows on the board, and under a name goes on where it was stopped", async () => {
      const [from, to] = [await bench.topic(), await bench.topic()];
      await bench.publish(from, numbered(300));
      const stop = new AbortController();
      const options = { from: { topic: from }, to, rate: 1_000, resume: `resume-${to}` };
      let board: unknown;
      const first = await replay(bench.bus, {
        ...options,
        signal: stop.signal,
        onProgress: ({ events }) => {
          board = bench.bus.tasks.reports();
          if (events >= 100) stop.abort();
        },
      });
      expect(first).toMatchObject({ complete: false, events: 100, floors: [100] });
      // A dry run looks at everything, and leaves the place where it is.
      expect(await replay(bench.bus, { ...options, dryRun: true })).toMatchObject({
        read: 300,
        floors: [300],
      });
      expect(board).toMatchObject([{ kind: "replay", state: "running" }]);
      const startMs = performance.now();
      const second = await replay(bench.bus, options);
      expect(performance.now() - startMs).toBeGreaterThan(100);
      expect(second).toMatchObject({ complete: true, read: 200, duplicates: 0, floors: [300] });
      expect(await numbers(to)).toHaveLength(300);
      expect(bench.bus.tasks.reports()).toEqual([]);
      // It came to its end: the name is free for another one.
      const other = { ...options, to: await bench.topic(), rate: 1e6 };
      expect(await replay(bench.bus, other)).toMatchObject({ complete: true, read: 300, duplicates: 0 });
    });

    it("P4: of what comes after a batch that fails nothing is there, and the next replay goes on", async () => {
      const [from, to] = [await bench.topic(), await bench.topic()];
      await bench.publish(from, numbered(1_700));
      let batches = 0;
      const host = new Proxy(bench.bus, {
        get: (bus, name) => {
          const member = Reflect.get(bus, name, bus) as unknown;
          if (typeof member !== "function") return member;
          return (...args: unknown[]) => {
            if (name === "publishStored" && ++batches === 2)
              return Promise.reject(new BusError("STORE_UNAVAILABLE", "not now"));
            return member.apply(bus, args) as unknown;
          };
        },
      });
      const options = { from, to, resume: `resume-${to}` };
      await expect(replay(host, options)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      expect(batches).toBe(2);
      expect(await numbers(to)).toHaveLength(500);
      expect(await replay(bench.bus, options)).toMatchObject({ complete: true, floors: [1_700] });
      expect(await numbers(to)).toEqual(Array.from({ length: 1_700 }, (_, i) => i + 1));
    });

    it("refuses what makes no sense", async () => {
      const topic = await bench.topic();
      const refused: [object, string][] = [
        [{ from: { topic }, to: topic }, "INVALID_OPTION"],
        [{ from: { topic: "no-such-topic" }, to: topic }, "NOT_FOUND"],
        [{ from: { topic, position: { when: 1 } }, to: "elsewhere" }, "INVALID_OPTION"],
        [{ from: { topic, position: { id: "nobody" } }, to: "elsewhere" }, "NOT_FOUND"],
        [{ from: { topic }, to: "elsewhere", rate: 0 }, "INVALID_OPTION"],
        [{}, "INVALID_OPTION"],
        [{ from: { topic }, to: "elsewhere", map: async () => ({ payload: 1 }) }, "INVALID_OPTION"],
      ];
      await bench.publish(topic, numbered(1));
      for (const [options, code] of refused) {
        await expect(replay(bench.bus, options as never)).rejects.toMatchObject({ code });
      }
    });
  });
  describeMoving(bench);
}

function describeMoving(bench: ProjectBench): void {
  describe("replay of a group", () => {
    it("says how many events it means, and only then moves it", async () => {
      const topic = await bench.topic();
      await bench.publish(
        topic,
        Array.from({ length: 10 }, (_, i) => ({ key: `k${i}`, payload: { i }, ts: 1_000 + i })),
      );
      const seen: number[] = [];
      const stop = await bench.bus.subscribe(topic, "g", (event) => void seen.push(event.seq), {
        from: "earliest",
      });
      const ref = { topic, group: "g" };
      const floor = async () =>
        (await bench.store.groups.state(ref, { nowMs: Date.now() }))?.leases[0]?.cursor.floor;
      await expect.poll(floor, { timeout: 30_000 }).toBe(10);
      const preview = await replay(bench.bus, { topic, group: "g", to: { seq: 8 }, dryRun: true });
      expect(preview).toMatchObject({ moved: false, redelivered: 3, skipped: 0, events: 3 });
      expect(preview.partitions).toEqual([
        { partition: 0, from: 10, to: 7, redelivered: 3, skipped: 0, events: 3 },
      ]);
      expect(seen).toHaveLength(10);
      expect(await replay(bench.bus, { topic, group: "g", to: { seq: 8 }, actor: "ann" })).toMatchObject({
        moved: true,
        redelivered: 3,
      });
      await expect.poll(() => seen.slice(10).sort((a, b) => a - b), { timeout: 30_000 }).toEqual([8, 9, 10]);
      const [audit] = await bench.store.registry.audits({ limit: 1 });
      expect(audit).toMatchObject({ actor: "ann", action: "group.move", details: { redelivered: 3 } });
      await stop();
    });

    it("counts what would be skipped, settled ranges and removed events included", async () => {
      const topic = await bench.topic({ partitions: 2 });
      const items = Array.from({ length: 20 }, (_, i) => ({
        payload: { i },
        ts: 1_000 + i,
        partition: i % 2,
      }));
      await bench.publish(topic, items);
      const { groups, log } = bench.store;
      await groups.start({ topic, group: "g" }, [2, 0]);
      const cursor = { floor: 2, settled: [[4, 5] as const], attempts: [], mark: 5, unclean: 0 };
      await groups.move({ topic, group: "g", partition: 0 }, cursor);
      await log.remove(topic, 1, [3, 4]);
      const skipping = await replay(bench.bus, { topic, group: "g", to: { ts: 1_012 }, dryRun: true });
      expect(skipping.partitions).toEqual([
        { partition: 0, from: 2, to: 6, redelivered: 0, skipped: 2, events: 4 },
        { partition: 1, from: 0, to: 6, redelivered: 0, skipped: 4, events: 4 },
      ]);
      const back = await replay(bench.bus, { topic, group: "g", to: "earliest", dryRun: true });
      expect(back.partitions).toMatchObject([{ redelivered: 4 }, { redelivered: 0, events: 8 }]);
      const one = await replay(bench.bus, { topic, group: "g", to: { seq: 1, partition: 0 } });
      expect(one.partitions).toMatchObject([{ partition: 0, to: 0 }]);
      const state = await groups.state({ topic, group: "g" }, { nowMs: Date.now() });
      expect(state?.leases.map(({ cursor: { floor } }) => floor)).toEqual([0, 0]);
    });

    it("does not make a group that nobody knows", async () => {
      const topic = await bench.topic();
      await expect(replay(bench.bus, { topic, group: "typo", to: "earliest" })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    });
  });
}
