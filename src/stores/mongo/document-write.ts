/**
 * One write to a view as one update of one document: the pipeline decides by itself whether the write is stale, so that
 * nothing can come in between, and a stale write is an update that changes nothing. What users bring stands behind
 * `$literal`: it is data, whatever it looks like.
 */
import type { AnyBulkWriteOperation, Document } from "mongodb";
import type { DocumentWrite } from "../../ports/documents.js";
import { bsonName, bsonText, toBson } from "./bson-json.js";
import type { ViewRow } from "./collections.js";

export function updateFor(write: DocumentWrite): AnyBulkWriteOperation<ViewRow> {
  const _id = bsonText(write.key);
  const version = write.version ?? { $add: [{ $ifNull: ["$version", 0] }, 1] };
  const row = { _id: { $literal: _id }, version, ts: { $literal: write.ts }, ...contentAfter(write) };
  const update =
    write.version === undefined
      ? row
      : { $cond: [{ $gte: [{ $ifNull: ["$version", NEVER] }, write.version] }, "$$ROOT", row] };
  return { updateOne: { filter: { _id }, update: [{ $replaceWith: update }], upsert: true } };
}

/** Below every version, for documents that are not there yet. */
const NEVER = { $literal: Number.NEGATIVE_INFINITY };

function contentAfter(write: DocumentWrite): Document {
  switch (write.op) {
    case "upsert":
      return { fields: { $literal: toBson(write.fields) } };
    case "delete":
      return { gone: { $literal: true } };
    case "increment":
      return { fields: { $mergeObjects: [{ $ifNull: ["$fields", {}] }, sums(write.by)] } };
  }
}

/** Fields that are absent, or no numbers, start at 0. */
function sums(by: Readonly<Record<string, number>>): Document {
  const members = Object.entries(by).map(([field, amount]) => {
    const name = bsonName(field);
    const present = { $cond: [{ $isNumber: `$fields.${name}` }, `$fields.${name}`, 0] };
    return [name, { $add: [present, amount] }];
  });
  return Object.fromEntries(members) as Document;
}
