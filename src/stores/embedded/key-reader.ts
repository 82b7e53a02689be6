/**
 * Events by key. Topics with an index by key are read through it; others by walking through their batches from the wanted
 * end, which costs as much as there is to walk.
 */
import type { Seq, StoredEvent } from "../../model/event.js";
import type { HistoryOptions } from "../../ports/log.js";
import type { Batches, BatchHead } from "./batches.js";
import { BatchCursor, MAX_SPAN } from "./codec.js";
import type { Connection } from "./sqlite.js";
import { KEYS_READY, type TopicRow } from "./topics.js";

/** Batches looked at in one query. */
const HEADS = 64;

export function readNewest(
  connection: Connection,
  batches: Batches,
  topic: TopicRow,
  keys: readonly string[],
): Map<string, StoredEvent> {
  const newest = new Map<string, StoredEvent>();
  for (const key of new Set(keys)) {
    const [event] = readHistory(connection, batches, topic, key, { limit: 1, newestFirst: true });
    if (event !== undefined) newest.set(key, event);
  }
  return newest;
}

export function readHistory(
  connection: Connection,
  batches: Batches,
  topic: TopicRow,
  key: string,
  options: HistoryOptions,
): StoredEvent[] {
  const wanted = Buffer.from(key, "utf8");
  const heads =
    topic.keys === KEYS_READY
      ? indexedHeads(connection, batches, topic, wanted, options)
      : mergedHeads(batches, topic, options);
  return collect(batches, heads, wanted, options);
}

/** Events of the key from batches that come in order of their first seq, ascending or descending. */
function collect(
  batches: Batches,
  heads: Iterable<BatchHead>,
  key: Buffer,
  { after = 0, through = Number.POSITIVE_INFINITY, limit, newestFirst = false }: HistoryOptions,
): StoredEvent[] {
  const found: StoredEvent[] = [];
  for (const head of heads) {
    // A batch that begins beyond the last wanted event cannot hold one that comes before it.
    if (found.length >= limit && isBeyond(head, found[limit - 1] as StoredEvent, newestFirst)) break;
    const cursor = new BatchCursor(batches.load(head));
    while (cursor.next()) {
      if (cursor.seq <= after || cursor.seq > through) continue;
      if (cursor.keyBytes?.equals(key)) found.push(batches.present(head, cursor));
    }
    found.sort((a, b) => (newestFirst ? bySeq(b, a) : bySeq(a, b)));
  }
  return found.slice(0, limit);
}

function isBeyond(head: BatchHead, last: StoredEvent, newestFirst: boolean): boolean {
  return newestFirst ? head.lastSeq < last.seq - MAX_SPAN : head.firstSeq > last.seq;
}

function bySeq(a: StoredEvent, b: StoredEvent): number {
  return a.seq - b.seq || a.partition - b.partition;
}

/** A batch spans MAX_SPAN seqs at most, so one that begins farther below `after` ends below it. */
function* indexedHeads(
  connection: Connection,
  batches: Batches,
  topic: TopicRow,
  key: Buffer,
  { after = 0, through = Number.MAX_SAFE_INTEGER, newestFirst = false }: HistoryOptions,
): Generator<BatchHead> {
  const select = connection.sql(
    `SELECT first_seq, part FROM key_index WHERE topic = ?1 AND key = ?2 AND first_seq <= ?3 AND first_seq > ?4
     ${newestFirst ? "ORDER BY first_seq DESC, part DESC" : "ORDER BY first_seq, part"} LIMIT ?5 OFFSET ?6`,
  );
  for (let offset = 0; ; offset += HEADS) {
    const rows = select.all<[firstSeq: Seq, part: number]>(
      topic.id,
      key,
      through,
      after - MAX_SPAN,
      HEADS,
      offset,
    );
    for (const [firstSeq, part] of rows) {
      const head = batches.startingAt(part, firstSeq);
      if (head?.firstSeq === firstSeq) yield head;
    }
    if (rows.length < HEADS) return;
  }
}

/** Batches of all partitions of a topic, merged by first seq. */
function* mergedHeads(batches: Batches, topic: TopicRow, options: HistoryOptions): Generator<BatchHead> {
  const { after = 0, through = Number.MAX_SAFE_INTEGER, newestFirst = false } = options;
  const next: (BatchHead | undefined)[] = [];
  for (let part = topic.firstPart; part < topic.firstPart + topic.partitions; part++) {
    next.push(
      newestFirst ? batches.below(part, Math.min(through, 2 ** 39) + 1) : batches.above(part, after, 1)[0],
    );
  }
  for (;;) {
    let best = -1;
    for (let i = 0; i < next.length; i++) {
      const head = next[i];
      if (head === undefined || (!newestFirst && head.firstSeq > through)) continue;
      const leader = next[best];
      if (
        leader === undefined ||
        (newestFirst ? head.firstSeq > leader.firstSeq : head.firstSeq < leader.firstSeq)
      )
        best = i;
    }
    const head = next[best];
    if (head === undefined) return;
    yield head;
    next[best] = newestFirst
      ? batches.below(head.part, head.firstSeq)
      : batches.startingAt(head.part, head.firstSeq + 1);
  }
}
