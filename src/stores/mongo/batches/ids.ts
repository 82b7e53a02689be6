/**
 * By what the events of a batch are found by id.
 *
 * Ids that a publisher chose stand in an array with a unique index: whoever brings one a second time, anywhere, runs into
 * it (P3). An entry in such an index costs the server more than all the rest of an event, and an id that a bus has just
 * made needs none: nobody else has it. Such ids are UUIDv7, which begin with their time, and those of a batch were made
 * within moments. So the batch tells the lowest and the highest of them, and whoever looks for one finds the few
 * batches that could hold it.
 *
 * What guards such an id is the place of its batch (append.ts). Pure.
 */
import type { Document } from "mongodb";
import type { EventDraft } from "../../../model/event.js";
import { bsonText, plainText } from "../bson-json.js";
import type { Text } from "../collections.js";

interface IdFields {
  readonly ids?: readonly Text[];
  readonly idFrom?: string;
  readonly idTo?: string;
}

/** Made ids of one batch lie this close together, or stand in the array like others: bounds what a search looks at. */
const MAX_RANGE_MS = 2_000;
/** Ids this far apart are searched for apart. */
const MAX_GAP_MS = 1_000;

/** Where a UUID tells its version. */
const SEVEN = 0x37;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** `allUuids`: every id is known to be a UUID in its usual form. */
export function idFields(drafts: readonly EventDraft[], allUuids: boolean): IdFields {
  let from: string | undefined;
  let to = "";
  const chosen: string[] = [];
  for (const { id, freshId } of drafts) {
    if (!freshId || !(allUuids ? id.charCodeAt(14) === SEVEN : UUID_V7.test(id))) chosen.push(id);
    else {
      if (from === undefined || id < from) from = id;
      if (id > to) to = id;
    }
  }
  if (from === undefined) return { ids: chosen.map(bsonText) };
  if (timeOf(to) - timeOf(from) > MAX_RANGE_MS) return { ids: drafts.map(({ id }) => bsonText(id)) };
  return { ...(chosen.length > 0 && { ids: chosen.map(bsonText) }), idFrom: from, idTo: to };
}

/** The same once only these events are left. A range may reach further than its ids. */
export function idFieldsLeft(
  { ids = [], idFrom, idTo }: IdFields,
  events: readonly { readonly id: string }[],
): IdFields {
  const left = new Set(events.map(({ id }) => id));
  const chosen = ids.filter((id) => left.has(plainText(id)));
  return {
    ...(chosen.length > 0 && { ids: chosen }),
    ...(idFrom !== undefined && idTo !== undefined && { idFrom, idTo }),
  };
}

/** Conditions, one of which holds for every batch that could hold one of these ids among its made ones. */
export function rangesOf(ids: readonly string[]): Document[] {
  const made = ids.filter((id) => UUID_V7.test(id)).sort();
  const runs: { from: string; to: string }[] = [];
  for (const id of made) {
    const run = runs.at(-1);
    if (run !== undefined && timeOf(id) - timeOf(run.to) <= MAX_GAP_MS) run.to = id;
    else runs.push({ from: id, to: id });
  }
  return runs.map(({ from, to }) => ({
    idTo: { $gte: from, $lt: firstAt(timeOf(to) + MAX_RANGE_MS + 1) },
    idFrom: { $lte: to },
  }));
}

function timeOf(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/** Every UUIDv7 of this time or later is at least this text. */
function firstAt(timeMs: number): string {
  const hex = timeMs.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7`;
}
