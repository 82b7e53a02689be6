/** Cursors of many partitions that are written at about the same time, as one command; each is refused alone (P7). */
import type { ClientSession, Collection } from "mongodb";
import type { BusError } from "../../../model/errors.js";
import type { Cursor, Epoch, GroupPartition } from "../../../ports/groups.js";
import type { CursorDocument } from "../collections.js";
import { type Told, tellApart } from "../connection/told-apart.js";
import { cursorId, leaseLost, ownedBy, storedCursor, writtenBefore } from "./cursor-document.js";

/**
 * A read behind a write sees at least what that saw. After a change of primaries, the new one may for a while not know that the grant
 * which kept a write out is a majority's: without this it would tell the old owner that it owns the partition still (P7).
 */
export const SEES_ITS_WRITES = { causalConsistency: true } as const;

export interface PlainCommit {
  readonly ref: GroupPartition;
  readonly epoch: Epoch;
  readonly cursor: Cursor;
  /** Which write this is (cursor-document.ts). */
  readonly write: number;
}

/** LEASE_LOST, or nothing. */
type Outcome = BusError | undefined;

export function commitCursors(
  cursors: Collection<CursorDocument>,
  commits: readonly PlainCommit[],
): Promise<readonly Told<Outcome>[]> {
  return tellApart(commits, (some) =>
    cursors.db.client.withSession(SEES_ITS_WRITES, (session) => writeAll(cursors, some, session)),
  );
}

async function writeAll(
  cursors: Collection<CursorDocument>,
  commits: readonly PlainCommit[],
  session: ClientSession,
): Promise<readonly Outcome[]> {
  const writes = commits.map(({ ref, epoch, cursor, write }) => ({
    updateOne: {
      filter: { ...ownedBy(ref, epoch), ...writtenBefore(write), "cursor.floor": { $lte: cursor.floor } },
      update: { $set: { cursor: storedCursor(cursor), written: write } },
    },
  }));
  const { matchedCount } = await cursors.bulkWrite(writes, { ordered: false, session });
  if (matchedCount === commits.length) return commits.map(() => undefined);
  const owned = await ownedOf(cursors, commits, session);
  // Behind a newer one of the same owner, there is nothing to do.
  return commits.map(({ ref, epoch }) =>
    owned.has(ownership(cursorId(ref), epoch)) ? undefined : leaseLost(ref, epoch),
  );
}

/** Which of them are held under the epoch that was named, as of the write at the earliest. */
async function ownedOf(
  cursors: Collection<CursorDocument>,
  commits: readonly PlainCommit[],
  session: ClientSession,
): Promise<ReadonlySet<string>> {
  const filter = { $or: commits.map(({ ref, epoch }) => ownedBy(ref, epoch)) };
  const found = await cursors.find(filter, { projection: { epoch: 1 }, session }).toArray();
  return new Set(found.map(({ _id, epoch }) => ownership(_id, epoch)));
}

function ownership(cursor: string, epoch: Epoch): string {
  return `${epoch} ${cursor}`;
}
