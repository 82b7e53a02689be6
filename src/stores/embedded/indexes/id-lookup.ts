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
 * Of the UUIDv7, many are looked for at once: see timed-lookup.
 */
import { ID_BYTES, textIndexKey, uuidIndexKey, uuidTimeMs, writeUuid } from "../../id-key.js";
import type { Batches } from "../batches/batches.js";
import { EventFinder } from "../batches/event-finder.js";
import type { Connection } from "../sqlite.js";
import type { IdIndex, Place } from "./id-index.js";
import { locateTimed } from "./timed-lookup.js";

/** What one connection needs to find an id. */
export interface IdSources {
  readonly connection: Connection;
  readonly batches: Batches;
  readonly index: IdIndex;
}

/** The place of an id, or undefined if no event of the log has it. */
export function locate(sources: IdSources, id: string): Place | undefined {
  const uuid = Buffer.allocUnsafe(ID_BYTES);
  const isUuid = writeUuid(id, uuid, 0);
  const timeMs = isUuid ? uuidTimeMs(uuid, 0) : -1;
  if (timeMs >= 0) {
    const { connection, batches } = sources;
    return locateTimed(connection, batches, [{ index: 0, ids: uuid, at: 0, timeMs }]).get(0);
  }
  const { index } = sources;
  index.refresh();
  const finder = new EventFinder(sources.batches);
  const hash = isUuid ? index.hash.ofUuid(uuid, 0) : index.hash.ofText(id);
  return (
    placeOf(finder, index.places(hash), id) ?? placeOf(finder, olderPlaces(sources, isUuid ? uuid : id), id)
  );
}

/** From before there was an index for ids that are no UUIDv7. */
function olderPlaces({ connection }: IdSources, id: Buffer | string): readonly Place[] {
  const key = typeof id === "string" ? textIndexKey(id) : uuidIndexKey(id, 0);
  const rows = connection
    .sql("SELECT part, seq FROM id_index WHERE id = ?")
    .all<[part: number, seq: number]>(key);
  return rows.map(([part, seq]) => ({ part, seq }));
}

/** Which of the places an index tells of is that of the id: some may lead nowhere, or to another event. */
export function placeOf(finder: EventFinder, places: readonly Place[], id: string): Place | undefined {
  return places.find(({ part, seq }) => finder.at(part, seq)?.id === id);
}
