/**
 * The embedded store beside a raw log (append, fdatasync) that does the same JSON work, and beside SQLite with a row per
 * event. Files lie in the temporary folder: point TMPDIR at the disk to be measured.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBus } from "../../src/bus/create-bus.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import type { Case, Suite } from "../suite.js";
import { consumeByBus, consumeStore, scanRawLog, scanStore } from "./embedded/scans.js";
import {
  type Load,
  openStore,
  publish,
  rawLog,
  rowPerEvent,
  type Sink,
  storeSink,
  TOPIC,
} from "./embedded/sinks.js";

const WIDE: Load = { events: 50_000, window: 1_024, ids: "fresh" };
const SINGLE: Load = { events: 2_000, window: 1, ids: "fresh" };
/** A store's writing thread is new each time: its code has to be compiled before an event costs what it will cost. */
const WARM = 40_000;
const SCANNED = 50_000;
const FLOWING = 200_000;
const LARGE = 1_000_000;

const folder = mkdtempSync(join(tmpdir(), "promethean-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}`);

/** Events a second, each awaited until it is durable. */
async function publishing(make: (path: string) => Promise<Sink>, load: Load): Promise<number> {
  const path = newFile();
  const sink = await make(path);
  await publish(sink, { ...load, events: Math.min(load.events, WARM) });
  const startMs = performance.now();
  await publish(sink, load);
  const rate = perSecond(load.events, startMs);
  await sink.close();
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
  return rate;
}

/** A file with that many events, made when first asked for. */
function filled(make: (path: string) => Promise<Sink>, events: number): () => Promise<string> {
  let made: Promise<string> | undefined;
  return () => {
    made ??= (async () => {
      const path = newFile();
      const sink = await make(path);
      await publish(sink, { events, window: 1_024, ids: "fresh" });
      await sink.close();
      return path;
    })();
    return made;
  };
}

const scannedLog = filled(rawLog, SCANNED);
const scannedStore = filled(storeSink, SCANNED);
const largeStore = filled(storeSink, LARGE);

async function scanning(scan: () => Promise<number>): Promise<number> {
  const startMs = performance.now();
  const count = await scan();
  if (count !== SCANNED) throw new Error(`${count} events were read, not ${SCANNED}`);
  return perSecond(SCANNED, startMs);
}

async function scanningStore(
  scan: (store: Awaited<ReturnType<typeof openStore>>) => Promise<number>,
): Promise<number> {
  const store = await openStore(await scannedStore());
  try {
    return await scanning(() => scan(store));
  } finally {
    await store.close();
  }
}

async function scanningByBus(): Promise<number> {
  const store = embeddedStore({ path: await scannedStore() });
  const bus = await createBus({ store, topics: [{ name: TOPIC, partitions: 1 }] });
  try {
    return await scanning(() => consumeByBus(bus, SCANNED));
  } finally {
    await bus.close();
  }
}

async function reopening(): Promise<number> {
  const path = await largeStore();
  const startMs = performance.now();
  const store = await openStore(path);
  const [head] = await store.log.heads(TOPIC);
  const tookMs = performance.now() - startMs;
  await store.close();
  if (head?.events !== LARGE) throw new Error(`${head?.events} events, not ${LARGE}`);
  return tookMs;
}

/** Growth of heap and resident memory while events flow through, in MiB. */
async function flowing(): Promise<readonly number[]> {
  const sink = await storeSink(newFile());
  await publish(sink, { ...WIDE, events: 20_000 });
  const before = memory();
  await publish(sink, { ...WIDE, events: FLOWING });
  const after = memory();
  await sink.close();
  return [after.heap - before.heap, after.rss - before.rss, after.rss];
}

function memory(): { heap: number; rss: number } {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed / 1_048_576, rss: rss / 1_048_576 };
}

function perSecond(events: number, startMs: number): number {
  return (events / (performance.now() - startMs)) * 1_000;
}

const rate = (name: string, measure: Case["measure"]): Case => ({ name, unit: "events/s", measure });

const RAW = "publish, window 1,024: raw log";
const MADE = "publish, window 1,024: embedded";
const SUPPLIED = "publish, window 1,024, ids of the caller: embedded";
const RAW_SINGLE = "publish, window 1: raw log";
const MADE_SINGLE = "publish, window 1: embedded";
const SCAN = "scan and parse: raw log";
const CATCH_UP = "catch up with acks: embedded";

export const suite: Suite = {
  name: "embedded",
  cases: [
    rate(RAW, () => publishing(rawLog, WIDE)),
    rate(MADE, () => publishing(storeSink, WIDE)),
    rate(SUPPLIED, () => publishing(storeSink, { ...WIDE, ids: "ordered" })),
    rate("publish, window 1,024, random ids of the caller: embedded", () =>
      publishing(storeSink, { ...WIDE, ids: "random" }),
    ),
    rate("publish, window 1,024: SQLite, a row per event", () => publishing(rowPerEvent, WIDE)),
    rate(RAW_SINGLE, () => publishing(rawLog, SINGLE)),
    rate(MADE_SINGLE, () => publishing(storeSink, SINGLE)),
    rate(SCAN, async () => {
      const path = await scannedLog();
      return scanning(() => scanRawLog(path));
    }),
    rate("scan and parse: embedded", () => scanningStore((store) => scanStore(store, () => undefined))),
    rate(CATCH_UP, () => scanningStore(consumeStore)),
    rate("catch up with acks: the bus on embedded", scanningByBus),
    { name: "reopen with 1,000,000 events", unit: "ms", measure: reopening },
    {
      name: "bytes of an event: raw log",
      unit: "bytes",
      measure: async () => (await stat(await scannedLog())).size / SCANNED,
    },
    {
      name: "bytes of an event: embedded",
      unit: "bytes",
      measure: async () => (await stat(await scannedStore())).size / SCANNED,
    },
    {
      name: `heap growth over ${FLOWING.toLocaleString("en")} events`,
      unit: "MiB",
      also: [
        { name: `resident memory growth over ${FLOWING.toLocaleString("en")} events`, unit: "MiB" },
        { name: "resident memory", unit: "MiB" },
      ],
      measure: flowing,
    },
  ],
  ratios: [
    { name: "publish, window 1,024: embedded / raw log", of: MADE, to: RAW, atLeast: 0.85 },
    { name: "publish, ids of the caller: embedded / raw log", of: SUPPLIED, to: RAW, atLeast: 0.6 },
    { name: "publish, window 1: embedded / raw log", of: MADE_SINGLE, to: RAW_SINGLE, atLeast: 0.5 },
    { name: "catch up with acks / scan of the raw log", of: CATCH_UP, to: SCAN, atLeast: 0.5 },
  ],
};
