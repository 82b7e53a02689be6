/**
 * A name that is misspelt must not count as not given: what a filter was to spare would be redriven, discarded or
 * removed, and a view made of something else than was meant.
 */
import { MongoClient } from "mongodb";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Bus } from "../bus/bus.js";
import { createBus } from "../bus/create-bus.js";
import { memoryStore } from "../stores/memory/index.js";
import { startChangefeed } from "./changefeed/changefeed.js";
import { compactNow, startCompactor } from "./history/compactor.js";
import { history } from "./history/time-travel.js";
import { deadLetters, discardDeadLetters, summarizeDeadLetters } from "./letters/dead-letters.js";
import { redrive } from "./letters/redrive.js";
import { runOutboxDrainer } from "./outbox-drainer.js";
import { rebuildView } from "./rebuild/rebuild.js";
import { rollbackView } from "./rebuild/view-rollback.js";
import { retainNow, startRetention } from "./retention/retention.js";
import { exportEvents } from "./transfer/export-events.js";
import { importEvents } from "./transfer/import-events.js";
import { replay } from "./transfer/replay.js";
import { startChangelogProjector } from "./views/changelog.js";
import { viewAt } from "./views/past-view.js";
import { startTransactionalProjector } from "./views/transactional.js";
import { warmView } from "./views/warm.js";

let bus: Bus;
beforeEach(async () => {
  bus = await createBus({ store: memoryStore() });
  await bus.subscribe("orders", "mailer", () => Promise.reject(new Error("no")), { maxAttempts: 1 });
  await bus.publish("orders", 1);
  await expect.poll(letters).toBe(1);
});
afterEach(() => bus.close());

async function letters(): Promise<number> {
  let count = 0;
  for await (const _ of deadLetters(bus, "orders")) count++;
  return count;
}

/** As plain JavaScript would say it. */
const misspelt: object = { grop: "biller" };
const handler = (): void => undefined;
/** Nobody connects to it. */
const database = new MongoClient("mongodb://127.0.0.1:1").db("shop");
const tend = (): never => {
  throw new Error("it was started");
};

it.each<[string, () => unknown]>([
  ["redrive", () => redrive(bus, { topic: "orders", ...misspelt })],
  ["discardDeadLetters", () => discardDeadLetters(bus, "orders", { reason: "old", ...misspelt })],
  ["deadLetters", () => deadLetters(bus, "orders", misspelt).next()],
  ["replay of a topic", () => replay(bus, { from: "orders", to: "orders-again", ...misspelt })],
  ["replay of a group", () => replay(bus, { topic: "orders", group: "mailer", to: "earliest", ...misspelt })],
  [
    "startChangelogProjector",
    () => startChangelogProjector(bus, { topic: "orders", view: "o", ...misspelt }),
  ],
  [
    "startTransactionalProjector",
    () => startTransactionalProjector(bus, { topic: "orders", group: "sums", handler, ...misspelt }),
  ],
  ["warmView", () => warmView(bus, { topic: "orders", view: "o", ...misspelt })],
  ["rebuildView", () => rebuildView(bus, "o", misspelt)],
  ["rollbackView", () => rollbackView(bus, "o", misspelt)],
  ["the source of a view", () => rebuildView(bus, "o", { source: { topic: "orders", ...misspelt } })],
  [
    "the projector of a view",
    () => rebuildView(bus, "o", { projector: { topic: "orders", group: "sums", handler, ...misspelt } }),
  ],
  ["the source of a view", () => viewAt(bus, { topic: "orders", ...misspelt }, 1)],
  ["find", () => bus.view("o").find(misspelt)],
  ["find in a view as it was", async () => (await viewAt(bus, { topic: "orders" }, 1)).find(misspelt)],
  ["history", () => history(bus, "orders", "k", misspelt)],
  ["retention", () => retainNow(bus, misspelt)],
  ["retention", () => startRetention(bus, misspelt)],
  ["a compactor", () => compactNow(bus, misspelt)],
  ["a compactor", () => startCompactor(bus, misspelt)],
  ["runOutboxDrainer", () => runOutboxDrainer(bus.store.outbox, bus, misspelt)],
  ["a change feed", () => startChangefeed(database, bus, { collection: "orders", ...misspelt }, tend)],
  ["importEvents", () => importEvents(bus, '{"topic":"others","payload":1}', misspelt)],
  ["exportEvents", () => exportEvents(bus, "orders", misspelt).next()],
])("%s refuses an option that it does not know, and does nothing", async (call, doing) => {
  await expect((async () => doing())()).rejects.toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringContaining(`${call} knows no option "grop"; it takes `),
  });
  expect(await letters()).toBe(1);
  expect((await bus.topics()).map(({ name }) => name).sort()).toEqual(["dlq.orders", "orders"]);
  expect(bus.tasks.reports()).toEqual([]);
});

it.each<[string, () => unknown]>([
  ["redrive", () => redrive(bus, { topic: "ordres" })],
  ["a dry run of redrive", () => redrive(bus, { topic: "ordres", dryRun: true })],
  ["discardDeadLetters", () => discardDeadLetters(bus, "ordres", { reason: "old" })],
  ["deadLetters", () => deadLetters(bus, "ordres").next()],
  ["summarizeDeadLetters", () => summarizeDeadLetters(bus, "ordres")],
])("%s of a topic that does not exist says so, and leaves nothing in the audit", async (_, call) => {
  const audited = async () => (await bus.store.registry.audits({ limit: 100 })).length;
  const before = await audited();
  await expect(call()).rejects.toMatchObject({ code: "NOT_FOUND", message: "there is no topic ordres" });
  expect(await audited()).toBe(before);
});

it("nothing to look at, to redrive or to discard is no failure", async () => {
  await bus.publish("calm", 1);
  expect(await summarizeDeadLetters(bus, "calm")).toMatchObject({ open: 0 });
  expect(await redrive(bus, { topic: "calm" })).toMatchObject({ redriven: 0 });
  expect(await discardDeadLetters(bus, "calm", { reason: "old" })).toBe(0);
});
