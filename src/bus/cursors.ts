/** Where a group stands on a topic, and moving it. */

import type { GroupRunner } from "../consume/group-runner.js";
import { floorsOf, type Wish } from "../consume/position.js";
import { BusError } from "../model/errors.js";
import type { Seq, StoredEvent } from "../model/event.js";
import type { CursorTarget, GroupPosition, PartitionPosition } from "../model/event-bus.js";
import type { GroupRef, GroupState } from "../ports/groups.js";
import { START_CURSOR } from "../ports/groups.js";
import type { PartitionHead } from "../ports/log.js";
import type { Store } from "../ports/store.js";

/** What the store knows, with what this bus knows better of the partitions it owns. */
export async function groupPosition(
  store: Store,
  ref: GroupRef,
  runner: GroupRunner | undefined,
  nowMs: number,
): Promise<GroupPosition | null> {
  const state = await store.groups.state(ref, { nowMs });
  if (state === null) return null;
  const partitions = partitionPositions(state, await store.log.heads(ref.topic), runner);
  const last = await lastSettled(store, ref, partitions);
  return { topic: ref.topic, ...(last && { lastId: last.id, lastTs: last.ts }), partitions };
}

export function partitionPositions(
  { leases }: GroupState,
  heads: readonly PartitionHead[],
  runner: GroupRunner | undefined,
): PartitionPosition[] {
  return leases.map((lease) => partitionPosition(lease, heads[lease.partition]?.head ?? 0, runner));
}

function partitionPosition(
  lease: GroupState["leases"][number],
  head: number,
  runner: GroupRunner | undefined,
): PartitionPosition {
  const shell = runner?.shells.get(lease.partition);
  const own = shell?.epoch === lease.epoch ? shell : undefined;
  const { partition, epoch } = lease;
  const floor = own?.floor ?? lease.cursor.floor;
  const settledAbove = own
    ? own.state.high - floor - own.state.buffered
    : lease.cursor.settled.reduce((sum, [start, end]) => sum + end - start + 1, 0);
  return {
    partition,
    floor,
    head,
    lag: Math.max(0, head - floor - settledAbove),
    inFlight: own?.state.inFlight ?? 0,
    owner: lease.alive ? lease.owner : null,
    epoch,
  };
}

/** The newest of the events at the floors. */
async function lastSettled(
  store: Store,
  ref: GroupRef,
  partitions: readonly PartitionPosition[],
): Promise<StoredEvent | undefined> {
  const pages = await Promise.all(
    partitions
      .filter(({ floor }) => floor > 0)
      .map(({ partition, floor }) => store.log.read(ref.topic, partition, { after: floor - 1, limit: 1 })),
  );
  const floors = new Map(partitions.map(({ partition, floor }) => [partition, floor]));
  const events = pages
    .flatMap((page) => page.events)
    .filter((event) => event.seq === floors.get(event.partition));
  return events.sort((a, b) => b.ts - a.ts || (a.id < b.id ? 1 : -1))[0];
}

/** Puts the group there, whoever owns its partitions now: owners are fenced and go on from the new place. */
export async function moveGroup(store: Store, ref: GroupRef, target: CursorTarget): Promise<void> {
  const floors = await targetFloors(store, ref.topic, target);
  await store.groups.start(ref, floors);
  for (const [partition, floor] of floors.entries()) {
    await store.groups.move({ ...ref, partition }, { ...START_CURSOR, floor, mark: floor });
  }
}

async function targetFloors({ log }: Store, topic: string, target: CursorTarget): Promise<readonly Seq[]> {
  if (typeof target === "object" && target?.partitions !== undefined)
    return storedFloors(await log.heads(topic), topic, target);
  return floorsOf(log, topic, wishOf(topic, target));
}

/** Exactly where each partition stood: by an event alone, partitions that are behind it would lose what they have not settled. */
function storedFloors(
  heads: readonly PartitionHead[],
  topic: string,
  { topic: named = topic, partitions }: Exclude<CursorTarget, string>,
): readonly Seq[] {
  const floors = new Map(Array.isArray(partitions) ? partitions.map((p) => [p?.partition, p?.floor]) : []);
  const isWhole =
    named === topic &&
    floors.size === heads.length &&
    heads.every(({ partition }) => Number.isSafeInteger(floors.get(partition)));
  if (!isWhole)
    throw new BusError(
      "INVALID_OPTION",
      `the partitions of a cursor of ${topic} are its ${heads.length}, each with its floor, as getCursor gives them`,
    );
  return heads.map(({ partition, head }) => Math.max(0, Math.min(head, floors.get(partition) as Seq)));
}

function wishOf(topic: string, target: CursorTarget): Wish {
  if (target === "earliest" || target === "latest") return { from: target };
  if (typeof target === "object" && target !== null) {
    const { lastId, lastTs } = target;
    if (typeof lastId === "string") return { from: "afterId", afterId: lastId };
    if (Number.isFinite(lastTs)) return { from: "ts", ts: lastTs as number };
    if (lastId === undefined && lastTs === undefined && target.topic === topic) return { from: "earliest" };
  }
  throw new BusError(
    "INVALID_OPTION",
    'a cursor is set to "earliest", "latest", { lastId }, { lastTs }, or what getCursor gave',
  );
}
