/**
 * Audit entries that are added at about the same time, as one command. Each takes the next number, which is free until somebody has
 * written under it: one after the other, a hundred at once would be five thousand tries.
 */
import type { Collection } from "mongodb";
import type { AuditEntry } from "../../../ports/registry.js";
import type { AuditDocument } from "../collections.js";
import { isMongo } from "../connection/driver-kinds.js";
import { isDuplicateKey } from "../connection/errors.js";
import { type Told, tellApart } from "../connection/told-apart.js";

export type NewAudit = Omit<AuditEntry, "number">;

export function addAudits(
  audit: Collection<AuditDocument>,
  entries: readonly NewAudit[],
): Promise<readonly Told<void>[]> {
  const added = new Set<NewAudit>();
  return tellApart(entries, async (some) => {
    for (let left = some.filter((entry) => !added.has(entry)); left.length > 0; ) {
      const count = await addNext(audit, left);
      for (const entry of left.slice(0, count)) added.add(entry);
      left = left.slice(count);
    }
    return some.map(() => undefined);
  });
}

/** Under the numbers that come next, in order, up to one that somebody else took; returns how many. */
async function addNext(audit: Collection<AuditDocument>, entries: readonly NewAudit[]): Promise<number> {
  const newest = await audit.findOne({}, { sort: { _id: -1 }, projection: { _id: 1 } });
  const first = (newest?._id ?? 0) + 1;
  try {
    await audit.insertMany(entries.map((entry, i) => documentOf(entry, first + i)));
    return entries.length;
  } catch (error) {
    if (!isMongo(error, "MongoBulkWriteError") || !isDuplicateKey(error)) throw error;
    if (error.result.getWriteConcernError() !== undefined) throw error;
    return error.insertedCount;
  }
}

function documentOf({ atMs, actor, action, target, details }: NewAudit, _id: number): AuditDocument {
  const text = details === undefined ? undefined : { details: JSON.stringify(details) };
  return { _id, atMs, actor, action, target, ...text };
}
