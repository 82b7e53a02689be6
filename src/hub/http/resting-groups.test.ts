/**
 * After a rebuild the group of the build before stands still, for the way back, and the compactor's is behind between two rounds: that
 * is no lag that anybody should hear of.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HubFixture, hubFixture } from "../../../test/support/hub-fixture.js";
import { compactNow } from "../../project/history/compactor.js";
import { rebuildView } from "../../project/rebuild/rebuild.js";
import { rollbackView } from "../../project/rebuild/view-rollback.js";
import { startChangelogProjector } from "../../project/views/changelog.js";
import { startTransactionalProjector } from "../../project/views/transactional.js";

let f: HubFixture;
beforeEach(async () => {
  f = await hubFixture();
  await f.bus.defineTopic({ name: "orders", partitions: 2 });
  await publish(10);
});
afterEach(() => f.close());

async function publish(events: number): Promise<void> {
  for (let n = 0; n < events; n++) await f.bus.publish("orders", { n }, { key: `k${n}` });
}

interface Group {
  readonly group: string;
  readonly lag: number;
  readonly resting?: true;
}

const json = async <T>(path: string): Promise<T> => (await f.get(path)).json() as Promise<T>;

/** Groups that are behind, unless they rest. */
async function behind(): Promise<string[]> {
  const { groups } = await json<{ groups: Group[] }>("/lag");
  return groups.filter(({ lag, resting }) => lag > 0 && resting !== true).map(({ group }) => group);
}

const settled = (): Promise<void> => expect.poll(behind).toEqual([]);

describe.each([
  [
    "a changelog",
    "changelog:totals",
    () => startChangelogProjector(f.bus, { topic: "orders", view: "totals" }),
  ],
  [
    "a changelog with a group of its own",
    "own",
    () => startChangelogProjector(f.bus, { topic: "orders", view: "totals", group: "own" }),
  ],
  [
    "a transactional projector",
    "counts",
    () =>
      startTransactionalProjector(f.bus, {
        ...{ topic: "orders", group: "counts", from: "earliest" },
        handler: async (events, tx) => {
          for (const { key = "-" } of events) await tx.view("totals").inc(key, { n: 1 });
        },
      }),
  ],
] as const)("a view of %s that was rebuilt", (_, group, start) => {
  beforeEach(async () => {
    await start();
    await settled();
    await (await rebuildView(f.bus, "totals", { switch: true })).result;
    await expect
      .poll(async () => (await json<{ topics: Group[] }>(`/groups/${group}`)).topics)
      .toMatchObject([{ resting: true }]);
    await publish(5);
    await settled();
  });

  it("its former group rests: it counts for no sum, no list and no metric", async () => {
    const { groups, lag } = await json<{ groups: Group[]; lag: number }>("/lag");
    const resting = groups.find((one) => one.group === group);
    expect(resting).toMatchObject({ resting: true });
    expect(resting?.lag).toBeGreaterThan(0);
    expect(lag).toBe(0);
    expect(await json("/overview")).toMatchObject({ lag: 0, lagSeconds: 0, lagging: [] });
    const stats = await json<{ groups: Group[]; lag: number }>("/stats");
    expect(stats).toMatchObject({ lag: 0, lagSeconds: 0 });
    expect(stats.groups.find((one) => one.group === group)).toMatchObject({ resting: true });
    const topic = await json<{ groups: Group[] }>("/topics/orders");
    expect(topic.groups.find((one) => one.group === group)).toMatchObject({ resting: true });
    const metrics = await (await f.get("/metrics")).text();
    expect(metrics).toMatch(/events_lag\{[^}]*group="[^"]+__2"\} 0/);
    expect(metrics).not.toContain(`events_lag{topic="orders",group="${group}"}`);
  });

  it("and is told of as such", async () => {
    const { sentence } = await json<{ sentence: string }>(`/groups/${group}/why?topic=orders`);
    expect(sentence).toMatch(
      /rests: it fed the build that a rebuild replaced, and is kept for the way back\.$/,
    );
  });

  it("after the way back it is the other that rests", async () => {
    await rollbackView(f.bus, "totals");
    await expect
      .poll(
        async () => (await json<{ groups: Group[] }>("/lag")).groups.filter(({ resting }) => resting).length,
      )
      .toBeLessThan(2);
    await publish(5);
    await settled();
    const { groups } = await json<{ groups: Group[] }>("/lag");
    expect(groups.find((one) => one.group === group)?.resting).toBeUndefined();
  });
});

describe("the group by which the compactor writes a snapshot", () => {
  const GROUP = "compactor:snapshot";

  it("counts for no sum, no list and no metric between two rounds, and is shown for what it is", async () => {
    await f.bus.defineTopic({ name: "prices", compaction: true });
    await compactNow(f.bus, { topic: "prices" });
    await f.bus.publish("prices", { n: 1 }, { key: "k" });
    const { groups, ...sums } = await json<{ groups: Group[] }>("/lag");
    expect(groups).toMatchObject([{ group: GROUP, lag: 1 }]);
    expect(sums).toMatchObject({ lag: 0, lagSeconds: 0 });
    expect(await json("/overview")).toMatchObject({ lag: 0, lagSeconds: 0, lagging: [] });
    expect(await json("/stats")).toMatchObject({ lag: 0, lagSeconds: 0, groups: [{ group: GROUP, lag: 1 }] });
    expect(await (await f.get("/metrics")).text()).not.toContain(GROUP);
    const { sentence } = await json<{ sentence: string }>(`/groups/${GROUP}/why?topic=prices`);
    expect(sentence).toBe(
      "compactor:snapshot is upkeep, 1 event behind on prices: the compactor's next round takes it along.",
    );
  });
});
