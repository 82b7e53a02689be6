/** Groups that nobody needs any more can be got rid of, and nothing of them is left. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failure } from "../../test/support/failure.js";
import { ordersOnTwoBuses } from "../../test/support/orders-on-two-buses.js";
import { rebuildView } from "../project/rebuild/rebuild.js";
import { retainNow } from "../project/retention/retention.js";
import { startChangelogProjector } from "../project/views/changelog.js";
import { memoryStore } from "../stores/memory/index.js";
import { ManualClock } from "../testing/index.js";
import type { Bus } from "./bus.js";
import { createBus } from "./create-bus.js";

const REF = { topic: "orders", group: "mailer" };

let bus: Bus;
let other: Bus;

beforeEach(async () => {
  ({ bus, other } = await ordersOnTwoBuses());
});
afterEach(async () => {
  await other.close();
  await bus.close();
});

/** Settles everything, and is gone. */
async function readAll(reader: Bus = bus): Promise<number[]> {
  const seen: number[] = [];
  const stop = await reader.subscribe("orders", "mailer", async (e) => void seen.push(e.seq), {
    from: "earliest",
  });
  await expect.poll(async () => (await bus.admin.lag(REF))[0]?.lag).toBe(0);
  await stop();
  return seen;
}

describe("a group that nobody is subscribed with", () => {
  it("is removed, with its pause, and the audit tells", async () => {
    await readAll();
    await bus.publish("orders", {}, { key: "late" });
    await bus.admin.pause(REF);
    expect(await bus.admin.remove(REF, { dryRun: true })).toEqual({ ...REF, removed: false, unsettled: 1 });
    expect(await bus.admin.lag()).toHaveLength(1);
    expect(await bus.admin.remove(REF, { actor: "eve" })).toEqual({ ...REF, removed: true, unsettled: 1 });
    expect(await bus.admin.lag()).toEqual([]);
    expect(await bus.store.registry.tokens("group-pause:")).toEqual(new Map());
    const [entry] = await bus.store.registry.audits({ limit: 1 });
    expect(entry).toMatchObject({ actor: "eve", action: "group.remove", target: "mailer" });
    expect(await failure(bus.admin.remove(REF))).toMatchObject({ code: "NOT_FOUND" });
  });

  it("begins anew when somebody subscribes under its name", async () => {
    expect(await readAll()).toHaveLength(10);
    await bus.admin.remove(REF);
    expect(await readAll(other)).toHaveLength(10);
  });

  it("no longer holds retention back", async () => {
    const clock = new ManualClock();
    const store = memoryStore();
    const old = await createBus({ store, clock });
    await old.defineTopic({ name: "orders", retentionMs: 1_000 });
    await old.publish("orders", 1);
    await store.groups.start(REF, [0]);
    await clock.advance(10_000);
    expect(await retainNow(old, { holdForGroups: true })).toMatchObject({ trimmed: 0, held: 1 });
    await old.admin.remove(REF);
    expect(await retainNow(old, { holdForGroups: true })).toMatchObject({ trimmed: 1, held: 0 });
    await old.close();
  });
});

describe("a group that is needed", () => {
  it("is not removed while somebody is subscribed with it, in whatever process", async () => {
    const stop = await other.subscribe("orders", "mailer", async () => undefined, { from: "earliest" });
    const refused = await failure(bus.admin.remove(REF));
    expect(refused).toMatchObject({ code: "WRITE_CONFLICT", retryable: false });
    expect(refused.message).toMatch(/^group mailer is in use on orders, by \S+: stop its subscribers first$/);
    await stop();
    expect(await bus.admin.remove(REF)).toMatchObject({ removed: true });
  });

  it("is not removed if it feeds a view, nor if it is the way back to the build before", async () => {
    const projector = await startChangelogProjector(bus, { topic: "orders", view: "totals" });
    await (await rebuildView(bus, "totals")).result;
    await projector.stop();
    const groups = (await bus.admin.lag()).map(({ group }) => group);
    expect(groups).toEqual(["changelog:totals", "changelog:totals__2"]);
    const words = await Promise.all(
      groups.map(async (group) => (await failure(bus.admin.remove({ topic: "orders", group }))).message),
    );
    expect(words).toEqual([
      "group changelog:totals of orders is kept for the way back to the build before: the next rebuild removes it",
      "group changelog:totals__2 of orders feeds a view, which would get all events once more; it goes with the view",
    ]);
  });
});
