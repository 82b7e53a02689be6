import { describe, expect, it, vi } from "vitest";
import { useBench } from "../../test/support/bus-bench.js";
import { defineTopic } from "../model/topic.js";

const bench = useBench();
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
});
