import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import { memoryStore } from "../../stores/memory/index.js";
import { startHostSummary } from "./host-summary.js";
import { changedTotals, type HostTotals, noTotals, type Share } from "./host-totals.js";
import { startProcessChangelog } from "./process-changelog.js";
import { type ProcessState, processStateTopic } from "./process-topics.js";

let bus: Bus;
afterEach(() => bus?.close());

const state = (pid: number, more: Partial<ProcessState> = {}): ProcessState => ({
  processId: `${more.host ?? "a"}:stt:${pid}`,
  pid,
  name: "stt",
  host: "a",
  cpu_pct: 10.1,
  mem_mb: 100.2,
  last_seen_ts: 5,
  status: "alive",
  ...more,
});

const tell = (payload: ProcessState): Promise<unknown> =>
  bus.publish(processStateTopic, payload, { key: payload.processId });

describe("the view of processes", () => {
  it("holds the newest state of each process, until it is forgotten", async () => {
    bus = await createBus({ store: memoryStore() });
    await startProcessChangelog(bus);
    await tell(state(1));
    await tell(state(2));
    await tell(state(1, { status: "stale" }));
    await bus.publish(processStateTopic, null, { key: "a:stt:2" });
    await tell(state(3));
    await vi.waitFor(async () => expect(await bus.view("processes").get("a:stt:3")).not.toBeNull());
    const { items } = await bus.view<ProcessState>("processes").find({ where: { host: "a" } });
    expect(items.map(({ pid, status }) => [pid, status])).toEqual([
      [1, "stale"],
      [3, "alive"],
    ]);
    expect(await bus.view("processes").get("a:stt:2")).toBeNull();
  });
});

describe("the summary of hosts", () => {
  it("P9: adds up what the processes of each host use, each change once", async () => {
    bus = await createBus({ store: memoryStore(), topics: [{ ...processStateTopic, partitions: 4 }] });
    const summary = await startHostSummary(bus);
    for (let pid = 1; pid <= 20; pid++) await tell(state(pid));
    await tell(state(1, { cpu_pct: 50 }));
    await tell(state(2, { status: "stale" }));
    await tell(state(1, { host: "b" }));
    await bus.publish(processStateTopic, null, { key: "a:stt:3" });
    await bus.publish(processStateTopic, null, { key: "a:stt:3" });
    await vi.waitFor(() => expect(summary.stats().events).toBe(25), { timeout: 30_000 });
    const hosts = bus.view<HostTotals>("hosts");
    expect(await hosts.get("a")).toMatchObject({ alive: 18, stale: 1, cpu_pct: 221.7, mem_mb: 1803.6 });
    expect(await hosts.get("b")).toMatchObject({ alive: 1, stale: 0, cpu_pct: 10.1 });
    await bus.publish(processStateTopic, null, { key: "b:stt:1" });
    await vi.waitFor(async () => expect(await hosts.get("b")).toBeNull(), { timeout: 30_000 });
  });

  it("comes to the same as adding up from scratch, however often things change", () => {
    const share: fc.Arbitrary<Share> = fc.record({
      host: fc.constant("a"),
      status: fc.constantFrom("alive", "stale"),
      cpu_pct: fc.double({ min: 0, max: 800, noNaN: true }),
      mem_mb: fc.double({ min: 0, max: 90_000, noNaN: true }),
    });
    const change = fc.tuple(fc.constantFrom("1", "2", "3"), fc.option(share, { nil: undefined }));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 50 }), (changes) => {
        const now = new Map<string, Share>();
        let totals = noTotals("a");
        for (const [key, after] of changes) {
          totals = changedTotals(totals, now.get(key), after);
          if (after === undefined) now.delete(key);
          else now.set(key, after);
        }
        const afresh = [...now.values()].reduce(
          (sum, one) => changedTotals(sum, undefined, one),
          noTotals("a"),
        );
        expect(totals).toEqual(afresh);
      }),
    );
  });
});
