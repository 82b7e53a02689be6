import { expect, it } from "vitest";
import { turnsDuring } from "../../test/support/turns.js";
import { jsonBody } from "../model/json.js";
import type { Log } from "../ports/log.js";
import { memoryStore } from "../stores/memory/index.js";
import { scanMerged, scanPages } from "./log-scan.js";

const PAGE = 10;
const EVENTS = 200;

it("lets others have their turn between pages, however fast the store is", async () => {
  const log = await filledLog();
  const stretch = { topic: "t", partition: 0, after: 0, through: EVENTS };
  let seen = 0;
  const turns = await turnsDuring(async () => {
    for await (const page of scanPages(log, stretch, { pageSize: PAGE })) seen += page.events.length;
    for await (const _ of scanMerged(log, [stretch], { pageSize: PAGE })) seen++;
  });
  expect(seen).toBe(2 * EVENTS);
  expect(turns).toBeGreaterThanOrEqual(EVENTS / PAGE);
});

it("P13: what is read ahead of a merge of many partitions is bounded for all of them together", async () => {
  const partitions = 64;
  const perPartition = 16;
  const log = await filledLog({ partitions, events: perPartition, payload: "x".repeat(64_000) });
  const stretches = Array.from({ length: partitions }, (_, partition) => ({
    ...{ topic: "t", partition, after: 0, through: perPartition },
  }));
  const read = log.read.bind(log);
  let held = 0;
  let most = 0;
  log.read = async (...wanted) => {
    const page = await read(...wanted);
    held += page.events.length;
    most = Math.max(most, held);
    return page;
  };
  let last = -1;
  let seen = 0;
  for await (const { ts } of scanMerged(log, stretches)) {
    expect(ts).toBeGreaterThanOrEqual(last);
    last = ts;
    seen++;
    held--;
  }
  expect(seen).toBe(partitions * perPartition);
  expect(most * 64_000).toBeLessThan(16 * 1_048_576 + partitions * 64_000);
});

async function filledLog({ partitions = 1, events = EVENTS, payload = "" } = {}): Promise<Log> {
  const store = memoryStore();
  await store.open();
  await store.registry.defineTopic({ name: "t", partitions });
  const body = jsonBody(payload, { maxPayloadBytes: 100_000, maxPayloadDepth: 1 });
  for (let partition = 0; partition < partitions; partition++) {
    const drafts = Array.from({ length: events }, (_, i) => ({
      id: `e${partition}-${i}`,
      ...{ ts: i, key: undefined, meta: undefined, body, freshId: true },
    }));
    await store.log.append("t", partition, drafts);
  }
  return store.log;
}
