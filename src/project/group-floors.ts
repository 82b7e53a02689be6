/** How far the groups of a topic have come. */
import type { Seq } from "../model/event.js";
import type { Cursor } from "../ports/groups.js";
import type { Store } from "../ports/store.js";

export interface GroupCursor {
  readonly group: string;
  readonly cursor: Cursor | undefined;
}

/** Every group's cursor in one partition; undefined where a group has none yet. */
export async function cursorsAt(
  store: Store,
  topic: string,
  partition: number,
  nowMs: number,
): Promise<GroupCursor[]> {
  const cursors: GroupCursor[] = [];
  for (const { group } of await store.groups.list(topic)) {
    const state = await store.groups.state({ topic, group }, { nowMs });
    if (state === null) continue;
    cursors.push({ group, cursor: state.leases.find((lease) => lease.partition === partition)?.cursor });
  }
  return cursors;
}

/** The floor of the slowest group; Infinity if there are no groups. */
export function slowestFloor(cursors: readonly GroupCursor[]): Seq {
  return cursors.reduce((floor, { cursor }) => Math.min(floor, cursor?.floor ?? 0), Number.POSITIVE_INFINITY);
}
