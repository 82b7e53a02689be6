/**
 * The embedded store beside a raw log (append, fdatasync) and beside SQLite with a row per event, in one run, doing the
 * same JSON work. Events go in as the bus hands them in: while one append is under way the next ones gather.
 */
import { mkdtemp, open, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { v7 } from "uuid";
import type { EventDraft } from "../../src/model/event.js";
import { jsonBody } from "../../src/model/json.js";
import { START_CURSOR } from "../../src/ports/groups.js";
import { type EmbeddedStore, embeddedStore } from "../../src/stores/embedded/index.js";

export interface BenchRow {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

export interface EmbeddedBenchOptions {
  /** Where the files go: the disk that is measured. */
  readonly folder?: string;
  readonly events?: number;
  /** Rounds per figure; the median counts. */
  readonly rounds?: number;
  /** Events in the file that is reopened. */
  readonly largeEvents?: number;
}

/** Makes drafts durable, in order. */
interface Sink {
  append(drafts: readonly EventDraft[]): Promise<unknown>;
  close(): Promise<void>;
}

const LIMITS = { maxBytes: 1_048_576, maxDepth: 64 };
const BATCH = 1_000;
const TOPIC = "bench.events";
const GROUP = { topic: TOPIC, group: "bench", partition: 0 };

export async function embeddedSuite(options: EmbeddedBenchOptions = {}): Promise<BenchRow[]> {
  const { events = 100_000, rounds = 3, largeEvents = 1_000_000 } = options;
  const folder = await mkdtemp(join(options.folder ?? tmpdir(), "promethean-bench-"));
  const files = new Files(folder);
  try {
    const single = Math.max(200, Math.floor(events / 50));
    const wide = (make: () => Promise<Sink>, fresh = true): Promise<number> =>
      median(rounds, () => publishRate(make, { events, window: 1_024, fresh }));
    const narrow = (make: () => Promise<Sink>): Promise<number> =>
      median(rounds, () => publishRate(make, { events: single, window: 1, fresh: true }));
    const rows: BenchRow[] = [];
    const add = (name: string, value: number, unit: string): void => void rows.push({ name, value, unit });

    const raw = await wide(() => rawLog(files.next("log")));
    add("publish, window 1,024, raw log", raw, "events/s");
    const made = await wide(() => storeSink(files.next("db")));
    add("publish, window 1,024, embedded", made, "events/s");
    add("publish, window 1,024, embedded / raw log", made / raw, "x");
    const supplied = await wide(() => storeSink(files.next("db")), false);
    add("publish, window 1,024, ids of the caller, embedded", supplied, "events/s");
    add("publish, window 1,024, ids of the caller, embedded / raw log", supplied / raw, "x");
    add(
      "publish, window 1,024, SQLite row per event",
      await wide(() => rowPerEvent(files.next("db"))),
      "events/s",
    );

    const rawSingle = await narrow(() => rawLog(files.next("log")));
    add("publish, window 1, raw log", rawSingle, "events/s");
    const storeSingle = await narrow(() => storeSink(files.next("db")));
    add("publish, window 1, embedded", storeSingle, "events/s");
    add("publish, window 1, embedded / raw log", storeSingle / rawSingle, "x");
    rows.push(...(await reading(files, events, rounds)));
    rows.push(...(await large(files, largeEvents)));
    return rows;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

class Files {
  readonly #folder: string;
  #number = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  next(extension: string): string {
    return join(this.#folder, `${++this.#number}.${extension}`);
  }
}

/** Events a second, each awaited until it is durable, at most `window` of them at a time. */
async function publishRate(
  make: () => Promise<Sink>,
  o: { events: number; window: number; fresh: boolean },
): Promise<number> {
  const sink = await make();
  await publish(sink, { ...o, events: Math.min(o.events, 2_000) });
  const startMs = performance.now();
  await publish(sink, o);
  const tookMs = performance.now() - startMs;
  await sink.close();
  return (o.events / tookMs) * 1_000;
}

async function publish(sink: Sink, o: { events: number; window: number; fresh: boolean }): Promise<void> {
  const queue: EventDraft[] = [];
  let made = 0;
  let settled = 0;
  const fill = (): void => {
    while (made < o.events && made - settled < o.window) queue.push(draftOf(made++, o.fresh));
  };
  fill();
  while (queue.length > 0) {
    const batch = queue.splice(0, BATCH);
    const appending = sink.append(batch);
    // The next ones gather while this append is under way.
    fill();
    await appending;
    settled += batch.length;
    fill();
  }
}

function draftOf(n: number, freshId: boolean): EventDraft {
  const payload = {
    host: `host-${n % 50}`,
    name: "worker",
    pid: 1_000 + (n % 500),
    status: "running",
    cpu: (n % 100) / 100,
    memory: 123_456_789 + n,
    labels: { zone: "a", release: "2026.1", role: "ingest" },
    note: "a heartbeat of ordinary size",
  };
  return {
    id: v7(),
    ts: Date.now(),
    key: `host-${n % 50}`,
    meta: undefined,
    body: jsonBody(payload, LIMITS),
    freshId,
  };
}

async function rawLog(path: string): Promise<Sink> {
  const file = await open(path, "a");
  return {
    async append(drafts) {
      let text = "";
      for (const { id, ts, key, body } of drafts) {
        text += `{"id":"${id}","ts":${ts},"key":${JSON.stringify(key)},"payload":${body.text}}\n`;
      }
      await file.write(text);
      await file.datasync();
    },
    close: () => file.close(),
  };
}

async function storeSink(path: string): Promise<Sink> {
  const store = await openStore(path);
  return { append: (drafts) => store.log.append(TOPIC, 0, drafts), close: () => store.close() };
}

async function openStore(path: string): Promise<EmbeddedStore> {
  const store = embeddedStore({ path });
  await store.open();
  await store.registry.defineTopic({ name: TOPIC, partitions: 1 }, { ifAbsent: true });
  return store;
}

async function rowPerEvent(path: string): Promise<Sink> {
  const database = new Database(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec(
    "CREATE TABLE event (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, ts INTEGER, key TEXT, payload TEXT)",
  );
  const insert = database.prepare("INSERT INTO event (id, ts, key, payload) VALUES (?, ?, ?, ?)");
  return {
    async append(drafts) {
      database.exec("BEGIN IMMEDIATE");
      for (const { id, ts, key, body } of drafts) insert.run([id, ts, key ?? null, body.text]);
      database.exec("COMMIT");
    },
    async close() {
      database.close();
    },
  };
}

async function reading(files: Files, events: number, rounds: number): Promise<BenchRow[]> {
  const logPath = files.next("log");
  const storePath = files.next("db");
  for (const sink of [await rawLog(logPath), await storeSink(storePath)]) {
    await publish(sink, { events, window: 1_024, fresh: true });
    await sink.close();
  }
  const bytes = (await stat(storePath)).size;
  const scan = await median(rounds, () => rate(events, () => scanRaw(logPath)));
  const store = await openStore(storePath);
  const read = await median(rounds, () => rate(events, () => scanStore(store, false)));
  const consume = await median(rounds, () => rate(events, () => scanStore(store, true)));
  await store.close();
  return [
    { name: "scan and parse, raw log", value: scan, unit: "events/s" },
    { name: "scan and parse, embedded", value: read, unit: "events/s" },
    { name: "catch up with acks, embedded", value: consume, unit: "events/s" },
    { name: "catch up with acks, embedded / raw scan", value: consume / scan, unit: "x" },
    { name: "bytes per event, raw log", value: (await stat(logPath)).size / events, unit: "bytes" },
    { name: "bytes per event, embedded", value: bytes / events, unit: "bytes" },
  ];
}

async function scanRaw(path: string): Promise<number> {
  const bytes = await readFile(path);
  let count = 0;
  for (let at = 0, end = bytes.indexOf(10); end >= 0; at = end + 1, end = bytes.indexOf(10, at)) {
    const event = JSON.parse(bytes.toString("utf8", at, end)) as { payload: { pid: number } };
    if (event.payload.pid > 0) count++;
  }
  return count;
}

/** Reads page by page; with acks, a group's cursor is committed after each page. */
async function scanStore(store: EmbeddedStore, acks: boolean): Promise<number> {
  const { groups, log } = store;
  const lease = acks ? await claim(store) : undefined;
  let count = 0;
  let after = 0;
  let committing: Promise<unknown> = Promise.resolve();
  for (;;) {
    const { events, through } = await log.read(TOPIC, 0, { after, limit: 1_000 });
    for (const { record } of events) if ((record.payload as { pid: number }).pid > 0) count++;
    if (lease !== undefined) {
      // Commits are coalesced: the next one waits for the last.
      await committing;
      committing = groups.commit(GROUP, lease, { ...START_CURSOR, floor: through, mark: through });
    }
    if (events.length === 0) break;
    after = through;
  }
  await committing;
  return count;
}

async function claim({ groups }: EmbeddedStore): Promise<number> {
  const nowMs = Date.now();
  const member = v7();
  await groups.open({ member, host: "bench", pid: 0, processStart: "" }, { nowMs, ttlMs: 60_000 });
  await groups.start(GROUP, [0]);
  await groups.move(GROUP, START_CURSOR);
  const claimed = await groups.claim(GROUP, member, { nowMs });
  if (claimed === null) throw new Error("the partition could not be claimed");
  return claimed.epoch;
}

async function large(files: Files, events: number): Promise<BenchRow[]> {
  const path = files.next("db");
  const sink = await storeSink(path);
  await publish(sink, { events: Math.min(events, 20_000), window: 1_024, fresh: true });
  const before = memory();
  await publish(sink, { events: events - Math.min(events, 20_000), window: 1_024, fresh: true });
  const after = memory();
  await sink.close();
  const startMs = performance.now();
  const store = await openStore(path);
  const [head] = await store.log.heads(TOPIC);
  const reopenMs = performance.now() - startMs;
  await store.close();
  return [
    { name: `reopen with ${head?.events} events`, value: reopenMs, unit: "ms" },
    { name: `heap growth over ${events} events`, value: after.heap - before.heap, unit: "MiB" },
    { name: `rss growth over ${events} events`, value: after.rss - before.rss, unit: "MiB" },
    { name: "rss at the end", value: after.rss, unit: "MiB" },
  ];
}

function memory(): { heap: number; rss: number } {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed / 1_048_576, rss: rss / 1_048_576 };
}

async function rate(events: number, work: () => Promise<number>): Promise<number> {
  const startMs = performance.now();
  const count = await work();
  if (count !== events) throw new Error(`${count} events were read, not ${events}`);
  return (events / (performance.now() - startMs)) * 1_000;
}

async function median(rounds: number, measure: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  for (let round = 0; round < rounds; round++) values.push(await measure());
  return values.sort((a, b) => a - b)[Math.floor(rounds / 2)] as number;
}
