/** Cursors of many partitions that are written at about the same time, as one command; each is refused alone (P7). */
import type { Collection } from "mongodb";
import type { Cursor, Epoch, GroupPartition } from "../../ports/groups.js";
import type { CursorDocument } from "./collections.js";
import { cursorId, leaseLost, ownedBy, storedCursor, writtenBefore } from "./cursor-document.js";

export interface PlainCommit {
  readonly ref: GroupPartition;
  readonly epoch: Epoch;
  readonly cursor: Cursor;
  /** Which write this is (cursor-document.ts). */
  readonly write: number;
}

/** Why one was not written. */
export interface CommitFailure {
  readonly reason: unknown;
}

type Outcome = CommitFailure | undefined;

export async function commitCursors(
  cursors: Collection<CursorDocument>,
  commits: readonly PlainCommit[],
): Promise<readonly Outcome[]> {
  try {
    return await writeAll(cursors, commits);
  } catch (reason) {
    // It may be about one of them only: what fails alone is that one's failure.
    if (commits.length === 1) return [{ reason }];
    return (await Promise.all(commits.map((commit) => commitCursors(cursors, [commit])))).flat();
  }
}

async function writeAll(
  cursors: Collection<CursorDocument>,
  commits: readonly PlainCommit[],
): Promise<readonly Outcome[]> {
  const writes = commits.map(({ ref, epoch, cursor, write }) => ({
    updateOne: {
      filter: { ...ownedBy(ref, epoch), ...writtenBefore(write), "cursor.floor": { $lte: cursor.floor } },
      update: { $set: { cursor: storedCursor(cursor), written: write } },
    },
  }));
  const { matchedCount } = await cursors.bulkWrite(writes, { ordered: false });
  if (matchedCount === commits.length) return commits.map(() => undefined);
  const owned = await ownedOf(cursors, commits);
  // Behind a newer one of the same owner, there is nothing to do.
  return commits.map(({ ref, epoch }) =>
    owned.has(ownership(cursorId(ref), epoch)) ? undefined : { reason: leaseLost(ref, epoch) },
  );
}

/** Which of them are held under the epoch that was named. */
async function ownedOf(
  cursors: Collection<CursorDocument>,
  commits: readonly PlainCommit[],
): Promise<ReadonlySet<string>> {
  const filter = { $or: commits.map(({ ref, epoch }) => ownedBy(ref, epoch)) };
  const found = await cursors.find(filter, { projection: { epoch: 1 } }).toArray();
  return new Set(found.map(({ _id, epoch }) => ownership(_id, epoch)));
}

function ownership(cursor: string, epoch: Epoch): string {
  return `${epoch} ${cursor}`;
}
