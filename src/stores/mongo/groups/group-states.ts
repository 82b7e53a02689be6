/** Who is in groups and who owns what, of many groups by two reads. */
import type { Document } from "mongodb";
import { addToList } from "../../../model/add-to-list.js";
import { type GroupRef, type GroupState, type Lease, START_CURSOR } from "../../../ports/groups.js";
import type { Collections, CursorDocument, MemberDocument } from "../collections.js";
import { cursorOf, groupName } from "./cursor-document.js";

/** A session that did not run out, by the server's clock. */
export const ALIVE = { $expr: { $gt: ["$expiresAt", "$$NOW"] }, open: true } as const;

/** In the order of `refs`; null for a group that was never started, or was removed. */
export async function readStates(
  { cursors, members }: Collections,
  refs: readonly GroupRef[],
): Promise<(GroupState | null)[]> {
  const found = await cursors.find({ $or: clauses(refs), cursor: { $exists: true } }).toArray();
  if (found.length === 0) return refs.map(() => null);
  const names = [...new Set(refs.map(groupName))];
  const owners = new Set(found.flatMap(({ owner }) => owner ?? []));
  const living = await members
    .find({ $or: [{ groups: { $in: names } }, { _id: { $in: [...owners] } }], ...ALIVE })
    // A member may be in thousands of groups: only those in question are told.
    .project<Joined>({ groups: { $setIntersection: [{ $ifNull: ["$groups", []] }, { $literal: names }] } })
    .sort({ _id: 1 })
    .toArray();
  const byGroup = new Map<string, CursorDocument[]>();
  for (const document of found) {
    const name = groupName(document);
    addToList(byGroup, name, document);
  }
  const joined = membersByGroup(living);
  const alive = new Set(living.map(({ _id }) => _id));
  return refs.map((ref) => {
    const documents = byGroup.get(groupName(ref));
    return documents === undefined ? null : stateOf(ref, documents, joined, alive);
  });
}

type Joined = Required<Pick<MemberDocument, "_id" | "groups">>;

/** One for each group name, so that the usual case, one group on many topics, is one walk through the index. */
function clauses(refs: readonly GroupRef[]): Document[] {
  const topics = new Map<string, string[]>();
  for (const { topic, group } of refs) {
    addToList(topics, group, topic);
  }
  return [...topics].map(([group, names]) => ({ topic: { $in: names }, group }));
}

function membersByGroup(living: readonly Joined[]): Map<string, string[]> {
  const joined = new Map<string, string[]>();
  for (const { _id, groups } of living) {
    for (const name of groups) {
      addToList(joined, name, _id);
    }
  }
  return joined;
}

function stateOf(
  ref: GroupRef,
  documents: readonly CursorDocument[],
  joined: ReadonlyMap<string, readonly string[]>,
  alive: ReadonlySet<string>,
): GroupState {
  const leases = documents.map(({ partition, epoch, owner, cursor = START_CURSOR }): Lease => {
    return { partition, epoch, owner, alive: owner !== null && alive.has(owner), cursor: cursorOf(cursor) };
  });
  leases.sort((a, b) => a.partition - b.partition);
  return { topic: ref.topic, group: ref.group, members: joined.get(groupName(ref)) ?? [], leases };
}
