/** Three ways of making events durable, given the same drafts: a raw log, the embedded store, SQLite with a row per event. */
import { randomUUID } from "node:crypto";
import { open } from "node:fs/promises";
import Database from "libsql";
import { systemClock } from "../../../src/model/clock.js";
import type { EventDraft } from "../../../src/model/event.js";
import { jsonBody } from "../../../src/model/json.js";
import { type EmbeddedStore, embeddedStore } from "../../../src/stores/embedded/index.js";
// The compiler must emit the threads' modules too, although nothing here calls them.
import type {} from "../../../src/stores/embedded/threads/reader-worker.js";
import type {} from "../../../src/stores/embedded/threads/writer-worker.js";
import { keyOf, payloadOf } from "../../events.js";

export const TOPIC = "bench.events";

/** Makes drafts durable, in order. */
export interface Sink {
  append(drafts: readonly EventDraft[]): Promise<unknown>;
  close(): Promise<void>;
}

/** Append and fdatasync, with the same JSON work: no index, no look-up of ids, no checksum. */
export async function rawLog(path: string): Promise<Sink> {
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

export async function storeSink(path: string): Promise<Sink> {
  const store = await openStore(path);
  return { append: (drafts) => store.log.append(TOPIC, 0, drafts), close: () => store.close() };
}

export async function openStore(path: string): Promise<EmbeddedStore> {
  const store = embeddedStore({ path });
  await store.open();
  await store.registry.defineTopic({ name: TOPIC, partitions: 1 }, { ifAbsent: true });
  return store;
}

export async function rowPerEvent(path: string): Promise<Sink> {
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

/** Made by the bus just now; or the caller's, which are looked up: UUIDv7, or nothing but chance. */
export type Ids = "fresh" | "ordered" | "random";

export interface Load {
  readonly events: number;
  /** Events that may wait for the disk at once. */
  readonly window: number;
  readonly ids: Ids;
}

const BATCH = 1_000;

/** Hands events in as the bus does: while one append is under way the next ones gather. */
export async function publish(sink: Sink, { events, window, ids }: Load): Promise<void> {
  const queue: EventDraft[] = [];
  let made = 0;
  let settled = 0;
  const fill = (): void => {
    while (made < events && made - settled < window) queue.push(draftOf(made++, ids));
  };
  fill();
  while (queue.length > 0) {
    const batch = queue.splice(0, BATCH);
    const appending = sink.append(batch);
    fill();
    await appending;
    settled += batch.length;
    fill();
  }
}

function draftOf(n: number, ids: Ids): EventDraft {
  return {
    id: ids === "random" ? randomUUID() : systemClock.newId(),
    ts: Date.now(),
    key: keyOf(n),
    meta: undefined,
    body: jsonBody(payloadOf(n), { maxPayloadBytes: 1_048_576, maxPayloadDepth: 64 }),
    freshId: ids === "fresh",
  };
}
