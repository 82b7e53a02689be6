/**
 * Where an id stands (P3). Four ways, and every id of the log is in one of them, or, while sheets are being filed, in two
 * that lead to the same place:
 *
 * - A UUIDv7 carries its time. A batch notes the span of the times of its ids (SPAN_MS wide at most), so an id is found by
 *   looking into the few batches whose span covers its time: no index entry per event.
 * - UUIDv7 whose time is off (much older than their neighbours', or far from the clock) have an entry in a tree, `id_index`; so
 *   have other ids from before there was an index for them.
 * - All other ids have an entry in that index: see id-index.
 * - UUIDv7 of batches that were in sheets and have been joined (sheet-filer) have an entry in the index of filed ids.
 *
 * Whether there is an entry follows from the batch alone: a UUIDv7 with a time inside [min_idt, max_idt] has none.
 */
import type { Batch, BatchCursor } from "../batch-codec.js";
import { ID_BYTES, textIndexKey, uuidIndexKey, uuidTimeMs, writeUuid } from "../id-key.js";
import { type Batches, type BatchHead, FIRST_SEQ, PART } from "./batches.js";
import { EventFinder } from "./event-finder.js";
import type { IdIndex, Place } from "./id-index.js";
import { seqOfUuid } from "./sheets.js";
import type { Connection } from "./sqlite.js";

/** Widest span of id times in one batch. */
export const SPAN_MS = 256;
/** Ids whose time is farther than this from the clock are never put into a span: they would stretch the search. */
export const MAX_CLOCK_GAP_MS = 3_600_000;

export function isInSpan(head: Pick<BatchHead, "minIdt" | "maxIdt">, timeMs: number): boolean {
  return head.minIdt !== null && head.maxIdt !== null && timeMs >= head.minIdt && timeMs <= head.maxIdt;
}

/** Whether the event that a cursor stands on is found by its batch's span, and so has no entry in the index. */
export function isSpanned(
  batch: Batch,
  head: Pick<BatchHead, "minIdt" | "maxIdt">,
  cursor: BatchCursor,
): boolean {
  const at = cursor.uuidAt;
  return at >= 0 && isInSpan(head, uuidTimeMs(batch.ids, at));
}

export function isUuid7({ ids }: Batch, { uuidAt }: BatchCursor): boolean {
  return uuidAt >= 0 && uuidTimeMs(ids, uuidAt) >= 0;
}

/** What one connection needs to find an id. */
export interface IdSources {
  readonly connection: Connection;
  readonly batches: Batches;
  readonly index: IdIndex;
}

/** The place of an id, or undefined if no event of the log has it. */
export function locate({ connection, batches, index }: IdSources, id: string): Place | undefined {
  const uuid = Buffer.allocUnsafe(ID_BYTES);
  const isUuid = writeUuid(id, uuid, 0);
  const timeMs = isUuid ? uuidTimeMs(uuid, 0) : -1;
  const key = isUuid ? uuidIndexKey(uuid, 0) : textIndexKey(id);
  if (timeMs < 0) {
    index.refresh();
    const hash = isUuid ? index.hash.ofUuid(uuid, 0) : index.hash.ofText(id);
    return placeOf(new EventFinder(batches), index.places(hash), id) ?? indexed(connection, batches, key, id);
  }
  return (
    spanned(connection, batches, uuid, timeMs) ??
    inSheet(batches, uuid, timeMs) ??
    indexed(connection, batches, key, id, "filed_id") ??
    indexed(connection, batches, key, id)
  );
}

function inSheet(batches: Batches, uuid: Buffer, timeMs: number): Place | undefined {
  const found = batches.sheets.holding(uuid, timeMs);
  if (found === undefined) return undefined;
  const { piece, at } = found;
  const seq = seqOfUuid(batches.load(piece), at);
  return seq === undefined ? undefined : { part: piece.part, seq };
}

function spanned(connection: Connection, batches: Batches, uuid: Buffer, timeMs: number): Place | undefined {
  const rows = connection
    .sql(`SELECT ${PART}, ${FIRST_SEQ}, ids FROM batch WHERE min_idt >= ? AND min_idt <= ? AND max_idt >= ?`)
    .all<[part: number, firstSeq: number, ids: Buffer]>(timeMs - SPAN_MS, timeMs, timeMs);
  for (const [part, firstSeq, ids] of rows) {
    const at = indexOfUuid(ids, uuid);
    if (at < 0) continue;
    const head = batches.holding(part, firstSeq);
    const seq = head === undefined ? undefined : seqOfUuid(batches.load(head), at);
    if (seq !== undefined) return { part, seq };
  }
  return undefined;
}

function indexOfUuid(ids: Buffer, uuid: Buffer): number {
  for (let at = ids.indexOf(uuid); at >= 0; at = ids.indexOf(uuid, at + 1)) {
    if (at % ID_BYTES === 0) return at;
  }
  return -1;
}

function indexed(
  connection: Connection,
  batches: Batches,
  key: Buffer,
  id: string,
  index: "id_index" | "filed_id" = "id_index",
): Place | undefined {
  const row = connection
    .sql(`SELECT part, seq FROM ${index} WHERE id = ?`)
    .get<[part: number, seq: number]>(key);
  return row && placeOf(new EventFinder(batches), [{ part: row[0], seq: row[1] }], id);
}

/** Which of the places an index tells of is that of the id: some may lead nowhere, or to another event. */
export function placeOf(finder: EventFinder, places: readonly Place[], id: string): Place | undefined {
  return places.find(({ part, seq }) => finder.at(part, seq)?.id === id);
}
