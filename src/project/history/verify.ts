/**
 * Verifies a group against its log: every seq up to the head is settled, dead-lettered, removed, in flight or pending,
 * and counted once; what is none of these is a hole, and is named. Reads only. Filtered events are settled ones; which
 * they were is not kept.
 */
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import { deadLetterTopic, type TopicRef } from "../../model/topic.js";
import type { Cursor, Lease } from "../../ports/groups.js";
import type { Log, Page, PartitionHead } from "../../ports/log.js";
import type { Host } from "../host.js";
import { type Stretch, scanPages } from "../log-scan.js";
import { checkName } from "../option-checks.js";
import { knownTopic } from "./time-travel.js";

/** Seqs of which nobody can say what became of them. */
export interface Hole {
  readonly from: Seq;
  readonly to: Seq;
  readonly why: string;
}

/** What became of the events of a partition up to the floor of a group. */
export interface VerifiedPartition {
  readonly partition: number;
  readonly floor: Seq;
  readonly head: Seq;
  /** Acked or filtered. */
  readonly settled: number;
  /** Given up, with a copy in `dlq.<topic>`. */
  readonly deadLettered: number;
  /** Taken by retention or compaction. */
  readonly removed: number;
  /** Unsettled, and its owner may have handed it out. */
  readonly inFlight: number;
  readonly pending: number;
  readonly holes: readonly Hole[];
}

/** Whether every event of a topic is accounted for by a group, partition by partition. */
export interface VerifiedGroup {
  readonly topic: string;
  readonly group: string;
  readonly ok: boolean;
  readonly partitions: readonly VerifiedPartition[];
}

/**
 * Accounts for every event that a group has or had before it: settled, dead-lettered, removed, in flight, pending, or missing.
 *
 * @example
 * const { ok, partitions } = await verifyGroup(bus, "orders", "mailer");
 */
export async function verifyGroup(
  host: Host,
  topic: TopicRef,
  group: string,
  options: { readonly signal?: AbortSignal } = {},
): Promise<VerifiedGroup> {
  checkName("group", group);
  const { name } = await knownTopic(host, topic);
  const { groups, log } = host.store;
  // Cursors before heads: a cursor that is read first cannot be ahead of a head that is read later.
  const state = await groups.state({ topic: name, group }, { nowMs: host.clock.now() });
  if (state === null) throw new BusError("NOT_FOUND", `${name} has no group ${group}`);
  const subject = { host, topic: name, group, pages: (stretch: Stretch) => pagesOf(log, stretch, options) };
  const given = await givenUp(subject);
  const partitions: VerifiedPartition[] = [];
  for (const { partition } of await log.heads(name)) {
    const lease = state.leases.find((one) => one.partition === partition);
    partitions.push(await verifyPartition(subject, partition, lease, given.get(partition) ?? new Set()));
  }
  return { topic: name, group, ok: partitions.every(({ holes }) => holes.length === 0), partitions };
}

/** What is verified, and how its log is read. */
interface Subject {
  readonly host: Host;
  readonly topic: string;
  readonly group: string;
  readonly pages: (stretch: Stretch) => AsyncGenerator<Page>;
}

/** Of a stretch that was not read to its end nothing is told. */
async function* pagesOf(
  log: Log,
  stretch: Stretch,
  options: { readonly signal?: AbortSignal },
): AsyncGenerator<Page> {
  yield* scanPages(log, stretch, options);
  if (options.signal?.aborted) throw new BusError("ABORTED", "the verification was stopped");
}

/** For each partition, the seqs of which the group has a dead letter. */
async function givenUp({ host, topic, group, pages }: Subject): Promise<Map<number, Set<Seq>>> {
  const letters = deadLetterTopic(topic);
  const given = new Map<number, Set<Seq>>();
  if ((await host.store.registry.topic(letters)) === null) return given;
  for (const { partition, head } of await host.store.log.heads(letters)) {
    for await (const page of pages({ topic: letters, partition, after: 0, through: head })) {
      for (const letter of page.events) {
        const { origin } = Object(letter.body.value) as { origin?: Origin };
        if (origin?.topic !== topic || origin.group !== group) continue;
        const seqs = given.get(origin.partition) ?? new Set();
        given.set(origin.partition, seqs.add(origin.seq));
      }
    }
  }
  return given;
}

interface Origin {
  readonly topic: string;
  readonly group: string;
  readonly partition: number;
  readonly seq: Seq;
}

const TRIES = 3;
/** Gaps that are named, at most. */
const MAX_NAMED = 100;

async function verifyPartition(
  subject: Subject,
  partition: number,
  lease: Lease | undefined,
  given: ReadonlySet<Seq>,
): Promise<VerifiedPartition> {
  for (let tries = 1; ; tries++) {
    const before = await headOf(subject, partition);
    const counts = await classify(subject, before, lease, given);
    const after = await headOf(subject, partition);
    // Events that came since are not looked at; if some went, what was counted is no longer comparable.
    const undisturbed = after.events - (after.head - before.head) === before.events;
    if (!undisturbed && tries < TRIES) continue;
    const holes = [...cursorHoles(lease?.cursor, before), ...(undisturbed ? logHoles(counts, before) : [])];
    const { present: _, gaps: __, ...rest } = counts;
    return { partition, floor: lease?.cursor.floor ?? 0, head: before.head, ...rest, holes };
  }
}

async function headOf({ host, topic }: Subject, partition: number): Promise<PartitionHead> {
  const head = (await host.store.log.heads(topic))[partition];
  if (head === undefined) throw new BusError("NOT_FOUND", `${topic} has no partition ${partition}`);
  return head;
}

interface Counts {
  present: number;
  /** Seqs between the first and the last that are not there: the first few. */
  gaps: (readonly [Seq, Seq])[];
  settled: number;
  deadLettered: number;
  removed: number;
  inFlight: number;
  pending: number;
}

async function classify(
  { topic, pages }: Subject,
  { partition, low, head }: PartitionHead,
  lease: Lease | undefined,
  given: ReadonlySet<Seq>,
): Promise<Counts> {
  const counts: Counts = {
    present: 0,
    gaps: [],
    ...{ settled: 0, deadLettered: 0, removed: 0, inFlight: 0, pending: 0 },
  };
  let next = low;
  const isSettled = settledIn(lease?.cursor);
  const handedOut = lease?.alive && lease.owner !== null ? lease.cursor.mark : 0;
  for await (const page of pages({ topic, partition, after: 0, through: head })) {
    counts.present += page.events.length;
    for (const { seq } of page.events) {
      if (seq > next && counts.gaps.length < MAX_NAMED) counts.gaps.push([next, seq - 1]);
      next = seq + 1;
      if (isSettled(seq)) given.has(seq) ? counts.deadLettered++ : counts.settled++;
      else if (seq <= handedOut) counts.inFlight++;
      else counts.pending++;
    }
  }
  if (next <= head && counts.gaps.length < MAX_NAMED) counts.gaps.push([next, head]);
  counts.removed = head - counts.present;
  return counts;
}

/** To be asked in ascending order. */
function settledIn(cursor: Cursor | undefined): (seq: Seq) => boolean {
  const { floor = 0, settled = [] } = cursor ?? {};
  let next = 0;
  return (seq) => {
    if (seq <= floor) return true;
    while ((settled[next]?.[1] ?? Number.POSITIVE_INFINITY) < seq) next++;
    return (settled[next]?.[0] ?? Number.POSITIVE_INFINITY) <= seq;
  };
}

/** What a cursor says that cannot be. */
export function cursorHoles(cursor: Cursor | undefined, { low, head }: PartitionHead): Hole[] {
  if (cursor === undefined) {
    return head < low ? [] : [{ from: low, to: head, why: "the group has no cursor in this partition" }];
  }
  const holes: Hole[] = [];
  if (cursor.floor > head) {
    holes.push({ from: head + 1, to: cursor.floor, why: "the floor lies beyond the log: events were lost" });
  }
  let last = cursor.floor;
  for (const [from, to] of cursor.settled) {
    if (from > to || from <= last) holes.push({ from, to, why: "this settled range is out of order" });
    else if (to > head && to > cursor.floor) {
      holes.push({ from: Math.max(from, head + 1), to, why: "settled beyond the log: events were lost" });
    }
    last = Math.max(last, to);
  }
  for (const { seq } of cursor.attempts) {
    if (settledIn(cursor)(seq)) holes.push({ from: seq, to: seq, why: "settled, and yet still being tried" });
  }
  return holes;
}

/** Where nothing was compacted, whatever is not there is a hole; else the holes are among what is not there. */
function logHoles({ present, gaps }: Counts, { low, head, events }: PartitionHead): Hole[] {
  if (present === events) return [];
  const why = `the log counts ${events} events here, but ${present} can be read`;
  if (events === head - low + 1 && gaps.length > 0) return gaps.map(([from, to]) => ({ from, to, why }));
  const [first, last] = [gaps[0], gaps.at(-1)];
  return [{ from: first?.[0] ?? low, to: gaps.length < MAX_NAMED ? (last?.[1] ?? head) : head, why }];
}
