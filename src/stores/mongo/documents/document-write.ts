/**
 * One write to a view as one update of one document.
 *
 * A write with a version is a pipeline that decides by itself whether the write is stale, so that nothing can come in
 * between, and a stale write is an update that changes nothing. What users bring stands behind `$literal`: it is data,
 * whatever it looks like.
 *
 * A write without a version is never stale, and plain operators say the same for less work. Only they refuse to add to
 * what is no number (`mayMeetNoNumber`): whoever uses them for that must be ready to do it again by pipelines.
 */
import type { AnyBulkWriteOperation, Document, UpdateFilter } from "mongodb";
import type { DocumentWrite } from "../../../ports/documents.js";
import { bsonName, bsonText, toBson } from "../bson-json.js";
import type { ViewRow } from "../collections.js";
import type { FoldedWrite } from "./document-fold.js";

export function updateFor(write: DocumentWrite): AnyBulkWriteOperation<ViewRow> {
  const _id = bsonText(write.key);
  const row = pipelineRow(write, 1);
  const update =
    write.version === undefined
      ? row
      : { $cond: [{ $gte: [{ $ifNull: ["$version", NEVER] }, write.version] }, "$$ROOT", row] };
  return { updateOne: { filter: { _id }, update: [{ $replaceWith: update }], upsert: true } };
}

function pipelineRow(write: DocumentWrite, count: number): Document {
  const version = write.version ?? { $add: [{ $ifNull: ["$version", 0] }, count] };
  return {
    _id: { $literal: bsonText(write.key) },
    version,
    ts: { $literal: write.ts },
    ...contentAfter(write),
  };
}

/** By operators it is refused where a field that is added to is no number. */
export function mayMeetNoNumber(write: DocumentWrite): boolean {
  return write.op === "increment";
}

/** As `updateFor`, by operators if the write has no version. `count` writes became this one. */
export function operatorsFor({ write, count }: FoldedWrite): AnyBulkWriteOperation<ViewRow> {
  if (write.version !== undefined) return updateFor(write);
  const _id = bsonText(write.key);
  return { updateOne: { filter: { _id }, update: operatorsAfter(write, count), upsert: true } };
}

function operatorsAfter(write: DocumentWrite, count: number): UpdateFilter<ViewRow> {
  const { ts } = write;
  switch (write.op) {
    case "upsert":
      return {
        $set: { ts, fields: toBson(write.fields) as Document },
        $inc: { version: count },
        $unset: { gone: "" },
      };
    case "delete":
      return { $set: { ts, gone: true }, $inc: { version: count }, $unset: { fields: "" } };
    case "increment": {
      // Added to 0, since a zero has no sign and $inc takes the amount for a field that is not there.
      const amounts = Object.entries(write.by).map(
        ([name, n]) => [`fields.${bsonName(name)}`, 0 + n] as const,
      );
      // A document that only had its version raised has fields all the same; and $inc would go beyond the largest number.
      if (amounts.length === 0 || amounts.some(([, n]) => mayOverflow(n)))
        return [{ $replaceWith: pipelineRow(write, count) }] as never;
      const $inc = { version: count, ...Object.fromEntries(amounts) };
      return { $set: { ts }, $inc, $unset: { gone: "" } } as UpdateFilter<ViewRow>;
    }
  }
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
    const sum = { $add: [present, amount] };
    return [name, mayOverflow(amount) ? finite(sum) : sum];
  });
  return Object.fromEntries(members) as Document;
}

/** What is smaller changes nothing in the largest number there is, so that no sum goes beyond it. */
const LEAST_TO_OVERFLOW = 2 ** 970;
const NO_JSON = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];

function mayOverflow(amount: number): boolean {
  return !(Math.abs(amount) < LEAST_TO_OVERFLOW);
}

/** Fails where a number has no JSON form: none of these becomes an integer. */
function finite(number: Document): Document {
  const checked = { $cond: [{ $in: ["$$number", NO_JSON] }, { $toInt: "$$number" }, "$$number"] };
  return { $let: { vars: { number }, in: checked } };
}
