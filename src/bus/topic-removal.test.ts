/** Topics that nobody needs any more can be got rid of, with all that belongs to them. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failure } from "../../test/support/failure.js";
import { ordersOnTwoBuses } from "../../test/support/orders-on-two-buses.js";
import { Fatal } from "../model/errors.js";
import { FeedPoint } from "../project/changefeed/feed-point.js";
import { compactNow } from "../project/history/compactor.js";
import { discardDeadLetters, summarizeDeadLetters } from "../project/letters/dead-letters.js";
import { removeView } from "../project/view-removal.js";
import { startChangelogProjector } from "../project/views/changelog.js";
import { drafts } from "../testing/conformance/samples.js";
import type { Bus } from "./bus.js";
import type { RemovalProgress } from "./topic-removal.js";

let bus: Bus;
let other: Bus;

beforeEach(async () => {
  ({ bus, other } = await ordersOnTwoBuses());
});
afterEach(async () => {
  await other.close();
  await bus.close();
});

const names = async (on: Bus = bus): Promise<string[]> => (await on.topics()).map(({ name }) => name);

/** Gives all events up, and is gone. */
async function giveUpAll(): Promise<void> {
  const refuse = (): never => {
    throw new Fatal("no");
  };
  const stop = await bus.subscribe("orders", "mailer", refuse, { from: "earliest" });
  await expect.poll(async () => (await bus.admin.lag())[0]?.lag).toBe(0);
  await stop();
}

describe("a topic that nobody needs", () => {
  it("is removed with its events, groups, pauses and dead letters, and the audit tells", async () => {
    await giveUpAll();
    await discardDeadLetters(bus, "orders", { key: "k3", reason: "known" });
    await bus.admin.pause({ topic: "orders", group: "mailer" });
    const means = { topic: "orders", events: 10, deadLetters: 9, groups: ["mailer"], others: ["dlq.orders"] };
    expect(await bus.admin.removeTopic("orders", { dryRun: true })).toEqual({ ...means, removed: false });
    expect(await names()).toEqual(["dlq.orders", "orders"]);
    expect(await bus.admin.removeTopic("orders", { actor: "eve" })).toEqual({ ...means, removed: true });
    expect(await names()).toEqual([]);
    expect(await bus.admin.lag()).toEqual([]);
    expect(await bus.store.registry.tokens("group-pause:")).toEqual(new Map());
    expect(await bus.store.documents.views()).toEqual([]);
    const [entry] = await bus.store.registry.audits({ limit: 1 });
    expect(entry).toMatchObject({ actor: "eve", action: "topic.remove", target: "orders" });
    expect(entry?.details).not.toHaveProperty("unfinished");
    expect(await failure(bus.admin.removeTopic("orders"))).toMatchObject({ code: "NOT_FOUND" });
  });

  it("takes its snapshot with it, and nothing is left of how far upkeep had come", async () => {
    await bus.defineTopic({ name: "orders", partitions: 2, compaction: true });
    await compactNow(bus, { topics: ["orders"] });
    expect(await names()).toEqual(["orders", "orders.snapshot"]);
    expect((await bus.store.registry.tokens("snapshot:")).size).toBeGreaterThan(0);
    expect(await bus.admin.removeTopic("orders")).toMatchObject({ groups: [], others: ["orders.snapshot"] });
    expect(await names()).toEqual([]);
    expect(await bus.store.registry.tokens("")).toEqual(new Map());
  });

  it("P2, P5: begins anew for whoever subscribes, behind the seqs there were", async () => {
    await other.latestByKey("orders", ["k0"]);
    await bus.admin.removeTopic("orders");
    const seen: unknown[] = [];
    const stop = await other.subscribe("orders", "mailer", (e) => void seen.push(e.payload), {
      from: "earliest",
    });
    expect(await names()).toEqual(["orders"]);
    const places = [];
    for (const key of ["k0", "k1", "k2", "k3"]) places.push(await bus.publish("orders", key, { key }));
    await expect.poll(() => seen.toSorted()).toEqual(["k0", "k1", "k2", "k3"]);
    expect(Math.min(...places.map(({ seq }) => seq))).toBeGreaterThan(1);
    const heads = await bus.store.log.heads("orders");
    expect(heads.reduce((sum, { head }) => sum + head, 0)).toBe(14);
    await stop();
  });

  it("is gone in every bus, whatever it had at hand", async () => {
    await other.publish("orders", 1);
    await bus.admin.removeTopic("orders");
    expect(await names(other)).toEqual([]);
    expect((await other.read("orders").next()).done).toBe(true);
    expect(await other.getCursor("orders", "mailer")).toBeNull();
    await other.publish("orders", 2);
    expect(await names()).toEqual(["orders"]);
  });

  it("comes back as it is defined here, also for whoever publishes by its name", async () => {
    await bus.defineTopic({ name: "orders", partitions: 2, retentionMs: 9 });
    await other.admin.removeTopic("orders");
    expect(await names()).toEqual([]);
    await bus.publish("orders", 1);
    expect(await other.topics()).toEqual([{ name: "orders", partitions: 2, retentionMs: 9 }]);
    await other.defineTopic({ name: "orders", partitions: 2 });
    await bus.admin.removeTopic("orders");
    await bus.publish("orders", 2);
    expect(await other.topics()).toEqual([{ name: "orders", partitions: 2, retentionMs: 9 }]);
  });

  it("keeps its partitions: a definition that says nothing of them gets these, one that says others is told", async () => {
    await bus.admin.removeTopic("orders");
    const refused = await failure(other.defineTopic({ name: "orders", partitions: 5 }));
    expect(refused).toMatchObject({ code: "TOPIC_CONFLICT", details: { topic: "orders", partitions: 2 } });
    expect(refused.message).toContain("was created with 2 partitions, for life");
    expect(await names()).toEqual([]);
    const again = { name: "orders", retentionMs: 5 };
    expect(await other.defineTopic(again)).toEqual({ ...again, partitions: 2 });
  });

  it("is found again by the dead letters that are its own, and by none of before", async () => {
    await giveUpAll();
    await bus.admin.removeTopic("orders");
    await bus.publish("orders", { n: 0 }, { key: "k0" });
    await giveUpAll();
    expect(await summarizeDeadLetters(bus, "orders")).toMatchObject({ open: 1, discarded: 0 });
  });
});

describe("a topic that is needed", () => {
  it("is not removed while somebody is subscribed to it or to its dead letters, in whatever process", async () => {
    await giveUpAll();
    for (const topic of ["orders", "dlq.orders"]) {
      const stop = await other.subscribe(topic, "reader", async () => undefined);
      const refused = await failure(bus.admin.removeTopic("orders"));
      expect(refused).toMatchObject({ code: "WRITE_CONFLICT", retryable: false });
      expect(refused.message).toMatch(new RegExp(`^group reader is in use on ${topic}, by \\S+: stop`));
      await stop();
    }
    const groups = ["mailer", "reader"];
    expect(await bus.admin.removeTopic("orders")).toMatchObject({ removed: true, groups });
  });

  it("a dry run says how much would go, and all that stands in the way", async () => {
    await giveUpAll();
    const projector = await startChangelogProjector(bus, { topic: "orders", view: "totals" });
    const stop = await other.subscribe("orders", "reader", async () => undefined);
    const preview = await bus.admin.removeTopic("orders", { dryRun: true });
    expect(preview).toEqual({
      ...{ topic: "orders", removed: false, events: 10, deadLetters: 10, others: ["dlq.orders"] },
      groups: ["changelog:totals", "mailer", "reader"],
      obstacles: [
        "orders feeds totals: remove the view first",
        expect.stringMatching(
          /^group changelog:totals is in use on orders, by \S+: stop its subscribers first$/,
        ),
        expect.stringMatching(/^group reader is in use on orders, by \S+: stop its subscribers first$/),
      ],
    });
    await stop();
    await projector.stop();
    await removeView(bus, "totals");
    expect(await bus.admin.removeTopic("orders", { dryRun: true })).not.toHaveProperty("obstacles");
  });

  it("is not removed while it feeds a view, whether or not its projector runs", async () => {
    const projector = await startChangelogProjector(bus, { topic: "orders", view: "totals" });
    await projector.stop();
    const refused = await failure(bus.admin.removeTopic("orders"));
    expect(refused).toMatchObject({ code: "WRITE_CONFLICT", details: { views: ["totals"] } });
    await removeView(bus, "totals");
    expect(await bus.admin.removeTopic("orders")).toMatchObject({ removed: true, groups: [] });
  });

  it("is not removed while a change feed publishes to it", async () => {
    const feed = new FeedPoint(bus.store.registry, bus.clock, {
      name: "shop.orders",
      topic: "orders",
      silentMs: 15_000,
    });
    await feed.take();
    await feed.move({ phase: "following", run: 1, start: { after: { _data: "1" } } });
    expect(await failure(bus.admin.removeTopic("orders"))).toMatchObject({
      code: "WRITE_CONFLICT",
      message: "the change feed shop.orders publishes to orders: stop it first",
    });
    await feed.leave();
    expect(await bus.admin.removeTopic("orders")).toMatchObject({ removed: true });
  });

  it("is not removed apart from what it belongs to; what is left of one that is gone is", async () => {
    await giveUpAll();
    expect(await failure(bus.admin.removeTopic("dlq.orders"))).toMatchObject({
      code: "WRITE_CONFLICT",
      message: "dlq.orders belongs to orders: it goes with that",
    });
    await bus.defineTopic({ name: "dlq.nobodys" });
    expect(await bus.admin.removeTopic("dlq.nobodys")).toMatchObject({ removed: true, others: [] });
  });

  it("P1: stays, with what is published while it is removed", async () => {
    const trim = bus.store.log.trim.bind(bus.store.log);
    let isPublished = false;
    bus.store.log.trim = async (topic, partition, through) => {
      const trimmed = await trim(topic, partition, through);
      if (!isPublished) {
        isPublished = true;
        await other.publish("orders", "new", { key: "k" });
      }
      return trimmed;
    };
    const refused = await failure(bus.admin.removeTopic("orders"));
    expect(refused).toMatchObject({ code: "WRITE_CONFLICT", details: { topic: "orders", newer: 1 } });
    expect(await names()).toEqual(["orders"]);
    const left: unknown[] = [];
    for await (const { payload } of bus.read("orders")) left.push(payload);
    expect(left).toEqual(["new"]);
    const [entry] = await bus.store.registry.audits({ limit: 1 });
    expect(entry).toMatchObject({ action: "topic.remove", details: { unfinished: true } });
    expect(await bus.admin.removeTopic("orders")).toMatchObject({ removed: true, events: 1 });
  });
});

describe("a removal that takes long", () => {
  it("goes so many events at a time, tells how far it is, and can be ended and taken up again", async () => {
    await bus.defineTopic({ name: "long", partitions: 2 });
    await bus.store.log.append("long", 1, drafts(250_000));
    await other.publish("dlq.long", 1);
    const over = new AbortController();
    const told: RemovalProgress[] = [];
    const onProgress = (progress: RemovalProgress): void => {
      told.push(progress);
      if (progress.events > 1) over.abort();
    };
    const stopped = await failure(bus.admin.removeTopic("long", { signal: over.signal, onProgress }));
    expect(stopped).toMatchObject({ code: "ABORTED", details: { topic: "long", events: 100_001 } });
    expect(told.at(-1)).toEqual({ events: 100_001, total: 250_001 });
    const [entry] = await bus.store.registry.audits({ limit: 1 });
    expect(entry).toMatchObject({ action: "topic.remove", details: { unfinished: true } });
    expect(await names()).toEqual(["long", "orders"]);
    const rest: RemovalProgress[] = [];
    expect(await bus.admin.removeTopic("long", { onProgress: (at) => rest.push(at) })).toMatchObject({
      removed: true,
      events: 150_000,
    });
    expect(rest.map(({ events }) => events)).toEqual([0, 0, 100_000, 150_000]);
    expect(await names()).toEqual(["orders"]);
  });

  it("ends as soon as somebody subscribes, who gets what is left", async () => {
    await bus.defineTopic({ name: "long", partitions: 1 });
    await bus.store.log.append("long", 0, drafts(250_000));
    const trim = bus.store.log.trim.bind(bus.store.log);
    bus.store.log.trim = async (topic, partition, through) => {
      const trimmed = await trim(topic, partition, through);
      await other.subscribe("long", "late", () => undefined);
      return trimmed;
    };
    expect(await failure(bus.admin.removeTopic("long"))).toMatchObject({
      code: "WRITE_CONFLICT",
      message: expect.stringContaining("group late is in use on long") as string,
    });
    expect(await bus.store.log.heads("long")).toMatchObject([{ low: 100_001, events: 150_000 }]);
  });

  it("says which topic was written to meanwhile, if that is one that goes with it", async () => {
    await other.publish("dlq.orders", 1);
    const trim = bus.store.log.trim.bind(bus.store.log);
    bus.store.log.trim = async (topic, partition, through) => {
      if (topic === "dlq.orders") await other.publish("dlq.orders", 2);
      return trim(topic, partition, through);
    };
    const refused = await failure(bus.admin.removeTopic("orders"));
    expect(refused.message).toMatch(/published to dlq\.orders while it was removed/);
  });
});

describe("patterns", () => {
  it("take in a topic that comes back, and bring none back that was removed", async () => {
    const seen: unknown[] = [];
    await bus.admin.removeTopic("orders");
    const stop = await other.subscribe("**", "all", (e) => void seen.push(e.payload));
    const { registry } = bus.store;
    await Promise.all([
      registry.defineTopic({ name: "brief", partitions: 1 }),
      registry.removeTopic("brief", [0]),
    ]);
    await bus.publish("orders", "back");
    await expect.poll(() => seen).toEqual(["back"]);
    expect(await names()).toEqual(["orders"]);
    await stop();
  });
});
