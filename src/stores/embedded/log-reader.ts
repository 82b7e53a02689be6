/** Pages of the log, and places in it by time. Runs on one state of the file. */
import type { Seq, StoredEvent } from "../../model/event.js";
import type { Page, ReadOptions } from "../../ports/log.js";
import type { Batches, BatchHead } from "./batches.js";
import { BatchCursor } from "./codec.js";
import type { Connection } from "./sqlite.js";

/** Batches looked at in one query. */
const HEADS = 64;

export function readPage(connection: Connection, batches: Batches, part: number, options: ReadOptions): Page {
  const { after, limit, maxBytes = Number.POSITIVE_INFINITY } = options;
  const head = headOf(connection, part);
  const events: StoredEvent[] = [];
  let bytes = 0;
  let through = after;
  while (through < head) {
    const heads = batches.above(part, through, Math.min(HEADS, limit));
    if (heads.length === 0) break;
    for (const batch of heads) {
      const cursor = openBatch(batches, batch, events.length > 0);
      if (cursor === undefined) return { events, through };
      while (cursor.next()) {
        if (cursor.seq <= after) continue;
        if (events.length >= limit || bytes >= maxBytes) return { events, through };
        const event = batches.present(batch, cursor);
        events.push(event);
        bytes += event.size;
        through = event.seq;
      }
    }
  }
  return { events, through: Math.max(after, head) };
}

/** The lowest present seq whose ts is at least `ts`, by halving: `run_ts` grows from batch to batch. */
export function seqAt(connection: Connection, batches: Batches, part: number, ts: number): Seq {
  const head = headOf(connection, part);
  let found: BatchHead | undefined;
  let low = 1;
  let high = head + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const batch = batches.startingAt(part, middle);
    if (batch === undefined || batch.runTs >= ts) {
      found = batch ?? found;
      high = middle;
    } else {
      low = batch.lastSeq + 1;
    }
  }
  if (found === undefined) return head + 1;
  const cursor = new BatchCursor(batches.load(found));
  while (cursor.next()) if (cursor.ts >= ts) return cursor.seq;
  return head + 1;
}

/** Damage ends a page that has something in it already; the next read meets it first and says so. */
function openBatch(batches: Batches, batch: BatchHead, hasEvents: boolean): BatchCursor | undefined {
  try {
    return new BatchCursor(batches.load(batch));
  } catch (error) {
    if (hasEvents) return undefined;
    throw error;
  }
}

function headOf(connection: Connection, part: number): Seq {
  return connection.sql("SELECT head FROM part WHERE id = ?").get<[number]>(part)?.[0] ?? 0;
}
