import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { useBench } from "../../test/support/bus-bench.js";
import { settled } from "../../test/support/eventually.js";
import { turnsDuring } from "../../test/support/turns.js";
import { BusError } from "../model/errors.js";
import { defineTopic } from "../model/topic.js";

const bench = useBench();
const STEP = fc.record({
  kind: fc.constantFrom("here", "elsewhere", "remove", "stop"),
  partition: fc.nat(2),
  count: fc.integer({ min: 1, max: 30 }),
});
let topics = 0;
const PARTITIONS = 3;
/** Several pages of each partition. */
const EVENTS = 2_000;

describe("following a topic", () => {
  it("P4: merges what is there by time, each partition in its order; then comes what is published", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: PARTITIONS })] });
    await bus.publishMany(
      "t.p",
      Array.from({ length: EVENTS }, (_, n) => ({ payload: n, key: `k${n % 50}`, ts: 1_000 + n })),
    );
    // Behind a later one of its partition it keeps its place there.
    const late = await bus.publish("t.p", "late", { key: "k0", ts: 1 });
    const read = vi.spyOn(bus.store.log, "read");
    const end = new AbortController();
    const floors = new Array<number>(PARTITIONS).fill(0);
    const seen: unknown[] = [];
    for await (const { record, partition, seq } of bus.follow("t.p", floors, end.signal)) {
      const { payload } = record;
      seen.push(payload);
      expect(floors[partition]).toBe(seq);
      if (seen.length === EVENTS + 1) void bus.publish("t.p", "new", { key: "k7", ts: 0 });
      if (payload === "new") end.abort();
    }
    const stored = seen.filter((payload) => typeof payload === "number");
    expect(stored).toEqual(Array.from({ length: EVENTS }, (_, n) => n));
    expect(seen.indexOf("late")).toBeGreaterThan(EVENTS - 50);
    expect(seen.at(-1)).toBe("new");
    expect(floors[late.partition]).toBeGreaterThanOrEqual(late.seq);
    const most = Math.max(...read.mock.calls.map(([, , { maxBytes = Number.NaN }]) => maxBytes));
    expect(most * PARTITIONS).toBeLessThan(16 * 1_048_576 * 0.26);
  });

  it("lets others have their turn, however many events are there, as reading to the end does", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: PARTITIONS })] });
    await bus.publishMany(
      "t.p",
      Array.from({ length: EVENTS }, (_, n) => ({ payload: n })),
    );
    const followed = await turnsDuring(async () => {
      const end = new AbortController();
      let seen = 0;
      for await (const _ of bus.follow("t.p", [0, 0, 0], end.signal)) if (++seen === EVENTS) end.abort();
    });
    expect(followed).toBeGreaterThanOrEqual(6);
    const read = await turnsDuring(async () => {
      for await (const _ of bus.read("t.p")) void _;
    });
    expect(read).toBeGreaterThanOrEqual(3);
  });

  it("P14: gives out what the other partitions have before it ends with the error of a damaged one", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: PARTITIONS })] });
    for (let n = 0; n < 900; n++) await bus.publish("t.p", n, { partition: n % PARTITIONS, ts: n });
    const read = bus.store.log.read.bind(bus.store.log);
    vi.spyOn(bus.store.log, "read").mockImplementation((topic, partition, o) =>
      partition === 1 && o.after >= 200
        ? Promise.reject(new BusError("STORE_DAMAGED", "what comes next is damaged"))
        : read(topic, partition, o),
    );
    const floors = new Array<number>(PARTITIONS).fill(0);
    const seen: number[] = [];
    const following = (async () => {
      for await (const { record } of bus.follow("t.p", floors, new AbortController().signal))
        seen.push(record.payload as number);
    })();
    await expect(following).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    expect(seen).toHaveLength(800);
    expect(floors).toEqual([300, 200, 300]);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  });

  it("P2: whoever stops anywhere and goes on from the floors sees each event once, in order, also while events are removed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 5, maxLength: 40 }), async (steps) => {
        const topic = `t.r${++topics}`;
        const here = await bench().bus();
        const elsewhere = await bench().bus({ topics: [defineTopic(topic, { partitions: PARTITIONS })] });
        const floors = new Array<number>(PARTITIONS).fill(0);
        const seen = floors.map((): number[] => []);
        const kept = floors.map(() => new Set<number>());
        const follow = async (most: number): Promise<void> => {
          const end = new AbortController();
          let count = 0;
          const events = here.follow(topic, floors, end.signal);
          const following = (async () => {
            for await (const { partition, seq } of events) {
              expect(floors[partition]).toBe(seq);
              seen[partition]?.push(seq);
              if (++count === most) end.abort();
            }
          })();
          await settled();
          end.abort();
          await following;
        };
        for (const { kind, partition, count } of steps) {
          if (kind === "stop") await follow(count);
          else if (kind === "remove") {
            const gone = [...(kept[partition] ?? [])].filter((seq) => seq % 3 !== 0).slice(-count);
            await here.store.log.remove(topic, partition, gone);
            for (const seq of gone) kept[partition]?.delete(seq);
          } else
            for (let n = 0; n < count; n++) {
              const bus = kind === "here" ? here : elsewhere;
              const { seq } = await bus.publish(topic, n, { partition, ts: (n * 7919) % 100 });
              kept[partition]?.add(seq);
            }
        }
        await bench().advance(10_000);
        await follow(Number.POSITIVE_INFINITY);
        for (const [partition, seqs] of seen.entries()) {
          expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
          expect([...(kept[partition] ?? [])].filter((seq) => !seqs.includes(seq))).toEqual([]);
        }
        await here.close();
        await elsewhere.close();
      }),
      { numRuns: 40 },
    );
  });

  it("ends at once with the error of a store that is away", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: PARTITIONS })] });
    await bus.publish("t.p", 1, { partition: 2 });
    const away = new BusError("STORE_UNAVAILABLE", "not now");
    const read = vi.spyOn(bus.store.log, "read").mockRejectedValue(away);
    const following = bus.follow("t.p", new Array<number>(PARTITIONS).fill(0), new AbortController().signal);
    await expect(following.next()).rejects.toBe(away);
    expect(read).toHaveBeenCalledTimes(PARTITIONS);
  });
});
