/** Cursors as documents, and the one condition under which they may be written (P7). */
import type { ClientSession, Collection, Filter } from "mongodb";
import { BusError } from "../../../model/errors.js";
import { freezeJson } from "../../../model/json.js";
import type { Cursor, CursorWrite, Epoch, Fence, GroupPartition, GroupRef } from "../../../ports/groups.js";
import type { CursorDocument } from "../collections.js";

/** Topic names have no slash, and a partition is a number, so whatever the group is called this is unambiguous. */
export function cursorId(ref: GroupPartition): string {
  return `${ref.topic}/${ref.partition}/${ref.group}`;
}

export function groupName(ref: GroupRef): string {
  return `${ref.topic}/${ref.group}`;
}

export function groupRef(name: string): GroupRef {
  const slash = name.indexOf("/");
  return { topic: name.slice(0, slash), group: name.slice(slash + 1) };
}

/** The cursor, while this epoch owns it. */
export function ownedBy(ref: GroupPartition, epoch: Epoch): Filter<CursorDocument> {
  return { _id: cursorId(ref), epoch, owner: { $type: "string" }, cursor: { $exists: true } };
}

let begun = 0;

/**
 * A number for a write of a cursor, to be taken when it begins. Under one epoch all writes come from one process, so that a write
 * that was given up, and arrives behind a newer one, is known by its number: the floors of both may be the same for hours.
 */
export function nextWrite(): number {
  return ++begun;
}

/** The cursor, unless it is from that write or a newer one. */
export function writtenBefore(write: number): Filter<CursorDocument> {
  return { written: { $not: { $gte: write } } };
}

export function leaseLost(ref: GroupPartition, epoch: Epoch): BusError {
  return new BusError(
    "LEASE_LOST",
    `group "${ref.group}" holds partition ${ref.partition} of "${ref.topic}" no longer under epoch ${epoch}`,
    { details: { topic: ref.topic, group: ref.group, partition: ref.partition, epoch } },
  );
}

/** Throws LEASE_LOST unless the lease is held; in a transaction, nobody else can be granted it until that ends. */
export async function holdLease(
  cursors: Collection<CursorDocument>,
  fence: Fence,
  session?: ClientSession,
): Promise<void> {
  const { matchedCount } = await cursors.updateOne(
    ownedBy(fence.ref, fence.epoch),
    { $inc: { fenced: 1 } },
    session === undefined ? {} : { session },
  );
  if (matchedCount === 0) throw leaseLost(fence.ref, fence.epoch);
}

/** Stores a cursor in a transaction with other things. */
export async function commitCursor(
  cursors: Collection<CursorDocument>,
  { ref, epoch, cursor, expectedFloor }: CursorWrite,
  session: ClientSession,
): Promise<void> {
  const before = await cursors.findOneAndUpdate(
    ownedBy(ref, epoch),
    { $set: { cursor: storedCursor(cursor), written: nextWrite() } },
    { session, returnDocument: "before" },
  );
  if (before === null) throw leaseLost(ref, epoch);
  const floor = before.cursor?.floor;
  if (expectedFloor === undefined || floor === expectedFloor) return;
  throw new BusError(
    "WRITE_CONFLICT",
    `group "${ref.group}" is at ${floor} in partition ${ref.partition} of "${ref.topic}", not at ${expectedFloor}`,
    { details: { topic: ref.topic, group: ref.group, partition: ref.partition, floor } },
  );
}

/** A copy with the fields of a cursor and no others, so that what is stored is what the port says. */
export function storedCursor(cursor: Cursor): Cursor {
  const { floor, settled, attempts, mark, unclean, suspect, held } = cursor;
  return {
    floor,
    settled,
    attempts,
    mark,
    unclean,
    ...(suspect === undefined ? undefined : { suspect }),
    // As text: a key may hold what BSON cannot.
    ...(held === undefined ? undefined : { held: JSON.stringify(held) as unknown as HeldKeys }),
  };
}

type HeldKeys = NonNullable<Cursor["held"]>;

export function cursorOf(stored: Cursor): Cursor {
  const { held, ...rest } = stored;
  if (held === undefined) return freezeJson(stored);
  return freezeJson({ ...rest, held: JSON.parse(held as unknown as string) as HeldKeys });
}
