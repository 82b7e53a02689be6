/**
 * Consumer groups: who is alive, who owns which partition, and how far each group has come.
 *
 * Liveness is kept per session (one per bus), not per partition: a beat renews everything a bus holds, so that a
 * thousand idle groups cost one write every few seconds. Safety never rests on time: a lease carries an epoch, every
 * grant raises it by one, and a write under an older epoch changes nothing (P7). Time only decides when a partition
 * may be taken from a session that went silent.
 */
import type { Seq } from "../model/event.js";

/** Grows by one with each grant of a partition to an owner. 0: never granted. */
export type Epoch = number;

/** A group on a topic. */
export interface GroupRef {
  readonly topic: string;
  readonly group: string;
}

/** One text for one group on one topic; neither name can hold a line break. */
export function groupKey(ref: GroupRef): string {
  return `${ref.topic}\n${ref.group}`;
}

/** A group in one partition. */
export interface GroupPartition extends GroupRef {
  readonly partition: number;
}

/** A lease that must still be held, under this epoch, for a write to happen (P7). */
export interface Fence {
  readonly ref: GroupPartition;
  readonly epoch: Epoch;
}

/** What is known of an event that was handed out and is not settled. */
export interface Attempt {
  readonly seq: Seq;
  /** How often it was handed out, as far as is known. */
  readonly delivered: number;
  /** Throws, nacks, missed deadlines, crashes pinned on it: what counts toward maxAttempts. */
  readonly failures: number;
  readonly error?: string;
  /** Not to be tried again before this time, by the clock of the owner that it failed under. */
  readonly retryAtMs?: number;
  /** How long that was from when it failed. Clocks of owners differ: none that follows waits for longer. */
  readonly waitMs?: number;
}

/** A key whose newer events wait among the dead letters behind one that the group gave up. */
export interface HeldKey {
  readonly key: string;
  /** Everything of this key up to here is done with. */
  readonly after: Seq;
  /** The newest of its events that went to the dead letters. */
  readonly last: Seq;
  /** How many of its events wait there. */
  readonly depth: number;
  readonly sinceMs: number;
}

/** A group's position in one partition. */
export interface Cursor {
  /** Every seq up to and including this is settled: acked, filtered, dead-lettered or removed. */
  readonly floor: Seq;
  /** Settled ranges above the floor, both ends included, ascending, not touching. */
  readonly settled: readonly (readonly [Seq, Seq])[];
  /** Unsettled events that have a past, ascending by seq. */
  readonly attempts: readonly Attempt[];
  /** Delivered mark: nothing above it was ever handed out. */
  readonly mark: Seq;
  /** Owners in a row that ended uncleanly without moving the floor; two or more mean careful mode. */
  readonly unclean: number;
  /** In careful mode: the one event that was being handled. A crash is pinned on it. */
  readonly suspect?: Seq;
  /** Keys that are held back. */
  readonly held?: readonly HeldKey[];
}

/** Whether the group is done with the event. */
export function isSettled({ floor, settled }: Cursor, seq: Seq): boolean {
  return seq <= floor || settled.some(([from, to]) => from <= seq && seq <= to);
}

/** A cursor that is written together with something else, in one commit. */
export interface CursorWrite {
  readonly ref: GroupPartition;
  readonly epoch: Epoch;
  readonly cursor: Cursor;
  /** The floor that must be stored now, else WRITE_CONFLICT: what is sent twice takes effect once. */
  readonly expectedFloor?: Seq;
}

/** Where a group stands that has not begun: before the first event. */
export const START_CURSOR: Cursor = { floor: 0, settled: [], attempts: [], mark: 0, unclean: 0 };

/** One bus instance, alive as long as it beats. */
export interface Session {
  /** Unique per bus instance; never used again. */
  readonly member: string;
  readonly host: string;
  readonly pid: number;
  /** Says when the process began, so that a reused pid is not taken for it. */
  readonly processStart: string;
}

/** A lease that was granted, and where to go on. */
export interface Claim {
  readonly epoch: Epoch;
  readonly cursor: Cursor;
  /** False if an earlier owner held it and did not release it: it crashed, was fenced, or went silent. */
  readonly clean: boolean;
}

/** A partition of a group: who has it, and where the group stands there. */
export interface Lease {
  readonly partition: number;
  readonly epoch: Epoch;
  /** The member that holds it, or null if it was released or never granted. */
  readonly owner: string | null;
  /** The owner's session is alive. */
  readonly alive: boolean;
  readonly cursor: Cursor;
}

/** Members, leases and cursors of a group. */
export interface GroupState extends GroupRef {
  /** Members with a living session that joined this group, sorted. */
  readonly members: readonly string[];
  /** One per partition that has a cursor, in order. */
  readonly leases: readonly Lease[];
}

/** Groups whose members, leases or cursors (by `move`) changed, in whatever order. */
export interface GroupChanges {
  /** Hand this in next time. */
  readonly version: number;
  readonly groups: readonly GroupRef[];
}

/** What the time is. */
export interface Timed {
  /** The caller's clock. A driver with a clock of its own (a server's) uses that instead. */
  readonly nowMs: number;
}

/** Sessions of members, leases with epochs, and cursors, which only the holder of the newest epoch may move (P7). */
export interface Groups {
  /** Begins a session that lasts `ttlMs` unless renewed. */
  open(session: Session, o: Timed & { ttlMs: number }): Promise<void>;
  /** Renews it, even after it ran out. False if it was closed or swept away: open a new one. */
  beat(member: string, o: Timed & { ttlMs: number }): Promise<boolean>;
  /** Ends it: the member leaves every group; leases it still held count as not released. */
  close(member: string, o: Timed): Promise<void>;
  /** Living sessions. */
  sessions(o: Timed): Promise<readonly Session[]>;

  /** The member wants a share of this group's partitions. */
  join(ref: GroupRef, member: string): Promise<void>;
  leave(ref: GroupRef, member: string): Promise<void>;

  /** Sets the first position (floor and mark) of partitions that have no cursor yet; others stay. Index = partition. */
  start(ref: GroupRef, floors: readonly Seq[]): Promise<void>;

  /**
   * Grants the partition if it has a cursor and is free, or its owner's session ran out, or the owner is this very
   * member (whose last claim was granted without its knowing: not clean); the epoch grows by one.
   */
  claim(ref: GroupPartition, member: string, o: Timed): Promise<Claim | null>;
  /**
   * Stores the cursor in one write. LEASE_LOST under any epoch but the newest, or after release. Under one epoch a floor only
   * grows: a write that was given up and arrives behind a newer one changes nothing (P9).
   */
  commit(ref: GroupPartition, epoch: Epoch, cursor: Cursor): Promise<void>;
  /** Stores the cursor as commit does and gives the partition back, cleanly. LEASE_LOST as for commit. */
  release(ref: GroupPartition, epoch: Epoch, cursor: Cursor): Promise<void>;
  /** Moves the cursor, or sets it, whoever owns it: the epoch grows by one, which fences the owner (P7); nobody owns it. */
  move(ref: GroupPartition, cursor: Cursor): Promise<void>;

  /** Null if the group has no cursor on this topic. */
  state(ref: GroupRef, o: Timed): Promise<GroupState | null>;
  /** Every (topic, group) that has a cursor, sorted by topic, then group; of one topic if given. */
  list(topic?: string): Promise<readonly GroupRef[]>;
  /** What changed since `version` (0 at first). Cheap when nothing did; sessions that run out need not show. */
  changes(version: number): Promise<GroupChanges>;
  /** Forgets the group's cursors and leases on this topic. Owners are fenced; epochs grow on if it starts again. */
  remove(ref: GroupRef): Promise<void>;
}
