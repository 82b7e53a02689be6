import { expect, it } from "vitest";
import { turnsDuring } from "../../test/support/turns.js";
import { jsonBody } from "../model/json.js";
import { memoryStore } from "../stores/memory/index.js";
import { scanKey } from "./key-scan.js";

const LIMITS = { maxPayloadBytes: 1_100_000, maxPayloadDepth: 1 };

async function keyed(events: number, size: number) {
  const store = memoryStore();
  await store.open();
  const { log, registry } = store;
  await registry.defineTopic({ name: "t", partitions: 1, keyed: true });
  const body = jsonBody("x".repeat(size), LIMITS);
  const drafts = Array.from({ length: events }, (_, n) => ({
    ...{ id: `e${n}`, ts: n, key: "k", meta: undefined, body, freshId: true },
  }));
  await log.append("t", 0, drafts);
  const stretches = [{ topic: "t", partition: 0, after: 0, through: events }];
  return { log, stretches };
}

it("lets others have their turn between pages, however fast the store is", async () => {
  const { log, stretches } = await keyed(2_000, 1);
  let seen = 0;
  const turns = await turnsDuring(async () => {
    for await (const _ of scanKey(log, "k", stretches)) seen++;
  });
  expect(seen).toBe(2_000);
  expect(turns).toBeGreaterThanOrEqual(2_000 / 256);
});

it("P13: asks for few events at a time where they are large", async () => {
  const { log, stretches } = await keyed(60, 1_000_000);
  const history = log.history.bind(log);
  let most = 0;
  log.history = async (...wanted) => {
    const page = await history(...wanted);
    most = Math.max(most, page.length);
    return page;
  };
  const seqs: number[] = [];
  for await (const { seq } of scanKey(log, "k", stretches)) seqs.push(seq);
  expect(seqs).toEqual(Array.from({ length: 60 }, (_, n) => n + 1));
  expect(most).toBeLessThanOrEqual(16);
});

it("stops when told to", async () => {
  const { log, stretches } = await keyed(2_000, 1);
  const stop = new AbortController();
  let seen = 0;
  for await (const _ of scanKey(log, "k", stretches, stop.signal)) if (++seen === 10) stop.abort();
  expect(seen).toBeLessThan(100);
});
