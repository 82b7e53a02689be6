/** Long logs in little memory: export, import and compaction hold a part of the log at a time, however long it is. */
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { describe, expect, it } from "vitest";
import { type Bus, compactNow, createBus, exportEvents, importEvents } from "../../src/index.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";

/** A million shows it best, and takes minutes. */
const EVENTS = Number(process.env.PROMETHEAN_SCALE_EVENTS ?? 60_000);
const KEYS = 10_000;
const MIB = 1_048_576;

/** Runs `work`; how far the heap rose above where it began. */
async function heapRise(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage().heapUsed;
  let peak = before;
  const look = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().heapUsed);
  }, 20);
  try {
    await work();
  } finally {
    clearInterval(look);
  }
  return (peak - before) / MIB;
}

async function openBus(path: string): Promise<Bus> {
  return createBus({
    store: embeddedStore({ path }),
    topics: [{ name: "big", partitions: 2, compaction: true }],
    // The newest events are kept in memory for groups near the head; here there are none, and less shows more.
    limits: { maxTailEvents: 1_000, maxTailBytes: 4 * MIB },
  });
}

const payloadOf = (n: number): unknown => ({ n, text: "x".repeat(80) });
const keyOf = (n: number): string => `k${(n * 7_919) % KEYS}`;

async function publishAll(bus: Bus): Promise<void> {
  for (let n = 0; n < EVENTS; n += 1_000) {
    const items = Array.from({ length: 1_000 }, (_, i) => ({ key: keyOf(n + i), payload: payloadOf(n + i) }));
    await bus.publishMany("big", items);
  }
}

async function expectNewest(bus: Bus): Promise<void> {
  const newest = await bus.latestByKey(
    "big",
    Array.from({ length: KEYS }, (_, i) => `k${i}`),
  );
  // Keys come round and round, so the last round holds each key's newest value.
  for (let n = EVENTS - KEYS; n < EVENTS; n++) expect(newest[keyOf(n)]?.payload).toEqual(payloadOf(n));
}

describe("a long log", () => {
  it(
    `P11: ${EVENTS} events over ${KEYS} keys are exported, imported and compacted in flat memory, to the same state`,
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "promethean-scale-"));
      const [first, second] = [await openBus(join(folder, "a.db")), await openBus(join(folder, "b.db"))];
      try {
        await publishAll(first);
        const file = join(folder, "big.ndjson");
        const rises = [
          await heapRise(() => pipeline(exportEvents(first, "big"), createWriteStream(file))),
          await heapRise(() => importEvents(second, createReadStream(file))),
          await heapRise(() => compactNow(second, { topic: "big", pauseMs: 0 })),
        ];
        if (EVENTS > 60_000) console.info(rises.map((mib) => `${Math.round(mib)} MiB`).join(", "));
        for (const rise of rises) expect(rise).toBeLessThan(200);
        const heads = await second.store.log.heads("big");
        expect(heads.reduce((sum, { events }) => sum + events, 0)).toBe(KEYS);
        await expectNewest(second);
      } finally {
        for (const bus of [first, second]) await bus.close();
        await rm(folder, { recursive: true, force: true });
      }
    },
    120_000 + EVENTS,
  );
});
