import { beforeEach, describe, expect, it, vi } from "vitest";
import { useBench } from "../../../test/support/bus-bench.js";
import type { Bus } from "../../bus/bus.js";
import { removeView } from "../view-removal.js";
import { type FeedPlace, FeedPoint } from "./feed-point.js";

const bench = useBench();
const PLACE: FeedPlace = { phase: "following", run: 7, start: { after: { _data: "1" } } };
const VIEW = "changefeed.shop.orders";
let bus: Bus;

function point(): FeedPoint {
  return new FeedPoint(bus.store.registry, bus.clock, {
    ...{ name: "Shop.orders", topic: "orders.changed", silentMs: 15_000 },
  });
}

/** As a feed that was stopped leaves it. */
beforeEach(async () => {
  bus = await bench().bus();
  const feed = point();
  await feed.take();
  await feed.move(PLACE);
  await bus.store.documents.write(VIEW, [{ op: "upsert", key: "1", ts: 1, fields: { digest: "d" } }]);
  await feed.leave();
});

describe("what a change feed has published, removed", () => {
  it("P12: has to be scanned for by the next start, also by one that comes after a start that failed", async () => {
    expect(await removeView(bus, VIEW)).toMatchObject({
      removed: true,
      documents: 1,
      feeds: ["Shop.orders"],
    });
    expect(await bus.store.documents.views()).toEqual([]);
    const failing = point();
    expect(await failing.take()).toBe(true);
    await failing.sign();
    await failing.leave();
    const next = point();
    expect(await next.take()).toBe(true);
    expect([next.isForgotten, next.place]).toEqual([true, PLACE]);
    await next.move({ ...PLACE, run: 8 });
    await next.leave();
    const last = point();
    await last.take();
    expect(last.isForgotten).toBe(false);
  });

  it("P12: has to be scanned for too by a feed that is started while it is removed", async () => {
    const { documents } = bus.store;
    const drop = documents.drop.bind(documents);
    const starting = point();
    documents.drop = async (view) => {
      await starting.take();
      await starting.move({ ...PLACE, run: 8 });
      await drop(view);
    };
    await removeView(bus, VIEW);
    documents.drop = drop;
    await expect(starting.move(PLACE)).rejects.toMatchObject({ code: "WRITE_CONFLICT" });
    expect(await starting.take()).toBe(true);
    expect(starting.isForgotten).toBe(true);
  });

  it("P12: has to be scanned for too by one that is at work by then, and writes its place as it is marked", async () => {
    const { documents, registry } = bus.store;
    const working = point();
    const drop = documents.drop.bind(documents);
    vi.spyOn(documents, "drop").mockImplementation(async (view) => {
      await working.take();
      isAtWork = true;
      await drop(view);
    });
    const put = registry.putToken.bind(registry);
    let isAtWork = false;
    let batches = 0;
    vi.spyOn(registry, "putToken").mockImplementation(async (name, value, o) => {
      const isMark = (value as { isForgotten?: true }).isForgotten === true;
      if (isAtWork && isMark && batches < 3) await working.move({ ...PLACE, run: 8 + batches++ });
      return put(name, value, o);
    });
    expect(await removeView(bus, VIEW)).toMatchObject({ removed: true });
    expect(batches).toBe(3);
    await expect(working.move(PLACE)).rejects.toMatchObject({ code: "WRITE_CONFLICT" });
    await working.take();
    expect(working.isForgotten).toBe(true);
  });

  it("is not removed while the feed runs", async () => {
    const feed = point();
    await feed.take();
    await expect(removeView(bus, VIEW)).rejects.toMatchObject({
      code: "WRITE_CONFLICT",
      message: "the change feed Shop.orders runs; stop it first",
    });
  });
});
