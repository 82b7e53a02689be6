import { expect, it } from "vitest";
import { jsonBody } from "../model/json.js";
import type { Log } from "../ports/log.js";
import { memoryStore } from "../stores/memory/index.js";
import { scanMerged, scanPages } from "./log-scan.js";

const PAGE = 10;
const EVENTS = 200;

it("lets others have their turn between pages, however fast the store is", async () => {
  const log = await filledLog();
  const stretch = { topic: "t", partition: 0, after: 0, through: EVENTS };
  let turns = 0;
  let over = false;
  const count = (): void => {
    turns++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  let seen = 0;
  for await (const page of scanPages(log, stretch, { pageSize: PAGE })) seen += page.events.length;
  for await (const _ of scanMerged(log, [stretch], { pageSize: PAGE })) seen++;
  over = true;
  expect(seen).toBe(2 * EVENTS);
  expect(turns).toBeGreaterThanOrEqual(EVENTS / PAGE);
});

async function filledLog(): Promise<Log> {
  const store = memoryStore();
  await store.open();
  await store.registry.defineTopic({ name: "t", partitions: 1 });
  const body = jsonBody(1, { maxBytes: 10, maxDepth: 1 });
  const drafts = Array.from({ length: EVENTS }, (_, i) => ({
    id: `e${i}`,
    ...{ ts: i, key: undefined, meta: undefined, body, freshId: true },
  }));
  await store.log.append("t", 0, drafts);
  return store.log;
}
