/**
 * Moves a group to another place in its topic, and says how many events that means, by the cursor as it is stored: what
 * an owner has settled in the last moments and not committed yet counts as unsettled, and comes again.
 */

import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { TopicRef } from "../../model/topic.js";
import { type Cursor, START_CURSOR } from "../../ports/groups.js";
import type { Log, PartitionHead } from "../../ports/log.js";
import { knownTopic } from "../history/time-travel.js";
import type { Host } from "../host.js";
import { scanPages } from "../log-scan.js";
import { checkName } from "../option-checks.js";
import { floorsAt, type Position } from "../topic-position.js";
import { feedsView } from "../views/feeders.js";

/** Which group to move, and where to. */
export interface MoveGroupOptions {
  readonly topic: TopicRef;
  readonly group: string;
  /** With `{ seq, partition }`, the other partitions stay where they are. */
  readonly to: Position;
  /** The group stays where it is. */
  readonly dryRun?: boolean;
  /** Who does it, for the audit. */
  readonly actor?: string;
}

/** What moving a group means in one partition. */
export interface MovedPartition {
  readonly partition: number;
  readonly from: Seq;
  readonly to: Seq;
  /** Settled events that come again. */
  readonly redelivered: number;
  /** Unsettled events that never come. */
  readonly skipped: number;
  /** Events that come from there on, up to now. */
  readonly events: number;
}

/** What a move of a group means, or meant: events that come again, and events that are passed over. */
export interface MovedGroup {
  readonly topic: string;
  readonly group: string;
  readonly moved: boolean;
  readonly redelivered: number;
  readonly skipped: number;
  readonly events: number;
  readonly partitions: readonly MovedPartition[];
}

const OPTIONS = namesOf<MoveGroupOptions>({ topic: true, group: true, to: true, dryRun: true, actor: true });

export async function moveGroup(host: Host, options: MoveGroupOptions): Promise<MovedGroup> {
  const { store, clock } = host;
  checkOptionNames("replay of a group", options, OPTIONS);
  checkName("group", options.group);
  const { name: topic } = await knownTopic(host, options.topic);
  const ref = { topic, group: options.group };
  const state = await store.groups.state(ref, { nowMs: clock.now() });
  if (state === null) throw new BusError("NOT_FOUND", `${topic} has no group ${options.group}`);
  // What it counted it would count again, and what it passed over the view would lack (P9).
  if (await feedsView(store.registry, ref))
    throw new BusError(
      "WRITE_CONFLICT",
      `group ${options.group} of ${topic} feeds a view, which would count events again, or lack some: rebuild the view instead`,
      { retryable: false },
    );
  const floors = await floorsAt(store.log, topic, options.to);
  const only = typeof options.to === "object" && "partition" in options.to ? options.to.partition : undefined;
  const partitions: MovedPartition[] = [];
  for (const head of await store.log.heads(topic)) {
    if (only !== undefined && head.partition !== only) continue;
    const cursor = state.leases.find(({ partition }) => partition === head.partition)?.cursor;
    const to = floors[head.partition] ?? 0;
    partitions.push(await consequence(store.log, topic, head, cursor ?? START_CURSOR, to));
  }
  if (!options.dryRun) {
    for (const { partition, to } of partitions) {
      await store.groups.move({ ...ref, partition }, { ...START_CURSOR, floor: to, mark: to });
    }
    await audit(host, options, topic, partitions);
  }
  return { ...ref, moved: !options.dryRun, ...sums(partitions), partitions };
}

async function consequence(
  log: Log,
  topic: string,
  head: PartitionHead,
  cursor: Cursor,
  to: Seq,
): Promise<MovedPartition> {
  const count = (after: Seq, through: Seq): Promise<number> =>
    countEvents(log, topic, head, after, Math.min(through, head.head));
  let redelivered = await count(to, cursor.floor);
  let skipped = await count(cursor.floor, to);
  for (const [start, end] of cursor.settled) {
    redelivered += await count(Math.max(to, start - 1), end);
    skipped -= await count(start - 1, Math.min(to, end));
  }
  const events = await count(to, head.head);
  return { partition: head.partition, from: cursor.floor, to, redelivered, skipped, events };
}

/** Without holes the seqs tell; else they have to be looked at. */
async function countEvents(
  log: Log,
  topic: string,
  { partition, low, head, events }: PartitionHead,
  after: Seq,
  through: Seq,
): Promise<number> {
  const from = Math.max(after, low - 1);
  if (from >= through) return 0;
  if (events === head - low + 1) return through - from;
  let count = 0;
  for await (const page of scanPages(log, { topic, partition, after: from, through }))
    count += page.events.length;
  return count;
}

function sums(partitions: readonly MovedPartition[]): {
  redelivered: number;
  skipped: number;
  events: number;
} {
  const sum = (of: (partition: MovedPartition) => number): number =>
    partitions.reduce((total, partition) => total + of(partition), 0);
  return {
    redelivered: sum((p) => p.redelivered),
    skipped: sum((p) => p.skipped),
    events: sum((p) => p.events),
  };
}

async function audit(
  host: Host,
  options: MoveGroupOptions,
  topic: string,
  partitions: readonly MovedPartition[],
): Promise<void> {
  await host.store.registry.audit({
    atMs: host.clock.now(),
    actor: options.actor ?? "bus",
    action: "group.move",
    target: `${topic} ${options.group}`,
    details: {
      ...sums(partitions),
      floors: partitions.map(({ partition, from, to }) => ({ partition, from, to })),
    },
  });
}
