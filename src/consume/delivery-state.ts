/**
 * What one owner of one partition knows: which events are taken in, where each one stands, and what a crash from
 * here on would leave behind (the cursor). Changed only by the transitions in delivery.ts.
 *
 *   waiting --lane free--> ready --demand--> in-flight --handled--> settled
 *                            ^                   |--failed--> delayed --time--> ready
 *                            '-------------------'--failed for good--> burying --buried--> settled
 */
import type { Seq } from "../model/event.js";
import type { Attempt, Cursor, HeldKey } from "../ports/groups.js";
import type { Entry } from "./entry.js";
import { Fifo } from "./fifo.js";
import { LaneSet } from "./lane-set.js";

export type Phase = "running" | "careful" | "draining" | "stopped";
export type Ordering = "key" | "partition" | "none";

/** Newer events of a key wait behind one that was given up. */
export interface HoldPolicy {
  readonly group: string;
  /** Keys held at once; when there are as many, an event of another key is retried for ever instead of given up. */
  readonly maxKeys: number;
  /** How long newer events wait for the next dead letter of their key while they come back. */
  readonly releaseMs: number;
  /** Events taken in beyond which they do not wait: what they wait for would find no room. */
  readonly maxWaiting: number;
}

/** How a group takes events in; the same for all its subscribers. */
export interface GroupPolicy {
  readonly ordering: Ordering;
  readonly maxBufferedEvents: number;
  readonly maxBufferedBytes: number;
  readonly maxSpan: number;
  /** How far ahead the delivered mark is committed. */
  readonly stride: number;
  readonly commitEveryMs: number;
  readonly commitEverySettles: number;
  /** Absent: events of a key go on when one of them was given up. */
  readonly hold?: HoldPolicy;
}

/** A key that is held (hold.ts). */
export interface Held {
  readonly key: string;
  after: Seq;
  last: Seq;
  depth: number;
  readonly sinceMs: number;
  /** Until then newer events of the key wait in their lane. */
  releaseUntilMs: number;
}

export interface Delivery {
  phase: Phase;
  /** Everything up to here is taken in (or was removed from the log). */
  high: Seq;
  /** Committed delivered mark; nothing above it may be handed out. */
  mark: Seq;
  /** How far ahead the mark is written; grows when delivery has to wait for it, up to a few strides of the policy. */
  stride: number;
  /** Highest seq handed out so far. */
  reached: Seq;
  /**
   * Unsettled events up to here may have been handed out before. Beyond the log's head at the claim too: an owner that
   * does not know yet that it lost its lease goes on up to its mark.
   */
  readonly redeliverThrough: Seq;
  /** Careful mode ends when everything up to here is settled. */
  readonly carefulThrough: Seq;
  readonly entries: Fifo<Entry>;
  readonly lanes: LaneSet;
  readonly ready: Fifo<Entry>;
  readonly delayed: Set<Entry>;
  /** How many are in flight. */
  inFlight: number;
  readonly burying: Set<Entry>;
  /** Keys that are held, and entries that such a key has just let go of: to be buried, or passed over. */
  readonly heldKeys: Map<string, Held>;
  readonly letGo: { readonly entry: Entry; readonly verdict: "follow" | "skip" }[];
  readonly hold: HoldPolicy | undefined;
  /** Unsettled entries and their bytes. */
  buffered: number;
  bufferedBytes: number;
  /** Past of unsettled events, as the cursor told it at the claim; each is used up when its event arrives. */
  readonly past: Map<Seq, Attempt>;
  /** Settled ranges above the floor, as the cursor told them at the claim, and the first one not yet passed. */
  readonly settledBefore: readonly (readonly [Seq, Seq])[];
  settledIndex: number;
  fetching: boolean;
  /** The log has grown since the page under way was asked for: whatever it says, there may be more. */
  grewMeanwhile: boolean;
  atHead: boolean;
  /** The last page was at hand, and most likely the next one is. */
  isNear: boolean;
  /** The largest batch that was asked for. */
  lot: number;
  committing: boolean;
  /** Changes since the last commit began. */
  dirty: number;
  /** How long the last commit took. */
  commitTookMs: number;
  /** Time by which dirty changes are to be committed. */
  commitAtMs: number;
  /** Earliest time at which something falls due, and the time for which a wake-up is asked; Infinity if none. */
  dueMs: number;
  wakeAtMs: number;
  /** Transactions that write the cursor: no other cursor write may be decided meanwhile. */
  held: number;
  /** A halt that waits for the end of those transactions. */
  haltWanted: boolean;
  /** The last word is spoken: the release is under way. */
  releasing: boolean;
  readonly claimFloor: Seq;
  unclean: number;
  /** Careful mode: the event whose hand-out is committed. */
  suspect: Seq | undefined;
  /** The newest event that the floor has passed under this owner: not its entry, which need not live on. */
  lastId: string | undefined;
  lastTs: number;
}

/** Takes over from a cursor. `head` is the log's head now: no crash can be about an event above it. */
export function createDelivery(cursor: Cursor, clean: boolean, head: Seq, hold?: HoldPolicy): Delivery {
  const unclean = clean ? 0 : cursor.unclean + 1;
  const pinned = cursor.suspect;
  const past = new Map(cursor.attempts.map((attempt) => [attempt.seq, attempt]));
  if (pinned !== undefined && pinned > cursor.floor) past.set(pinned, blame(past.get(pinned), pinned));
  return {
    phase: unclean >= 2 || pinned !== undefined ? "careful" : "running",
    high: cursor.floor,
    mark: 0,
    stride: 0,
    reached: cursor.floor,
    redeliverThrough: cursor.mark,
    carefulThrough: Math.min(cursor.mark, head),
    entries: new Fifo(),
    lanes: new LaneSet(),
    ready: new Fifo(),
    delayed: new Set(),
    inFlight: 0,
    burying: new Set(),
    heldKeys: hold === undefined ? new Map() : heldKeysOf(cursor),
    letGo: [],
    hold,
    buffered: 0,
    bufferedBytes: 0,
    past,
    settledBefore: cursor.settled,
    settledIndex: 0,
    fetching: false,
    grewMeanwhile: false,
    atHead: false,
    isNear: false,
    lot: 0,
    committing: false,
    dirty: 0,
    commitTookMs: 0,
    commitAtMs: Number.POSITIVE_INFINITY,
    dueMs: Number.POSITIVE_INFINITY,
    wakeAtMs: Number.POSITIVE_INFINITY,
    held: 0,
    haltWanted: false,
    releasing: false,
    claimFloor: cursor.floor,
    unclean,
    suspect: undefined,
    lastId: undefined,
    lastTs: 0,
  };
}

function heldKeysOf({ held = [] }: Cursor): Map<string, Held> {
  return new Map(held.map((one) => [one.key, { ...one, releaseUntilMs: 0 }]));
}

function blame(known: Attempt | undefined, seq: Seq): Attempt {
  return {
    seq,
    delivered: known?.delivered ?? 1,
    failures: (known?.failures ?? 0) + 1,
    error: "the process ended while this event was being handled",
  };
}

/** Every seq up to and including this is settled. */
export function floorOf(state: Delivery): Seq {
  const first = state.entries.peek();
  return first === undefined ? state.high : first.seq - 1;
}

/** Lets go of the entries at the front that are settled. */
export function passSettled(state: Delivery): void {
  let passed: Entry | undefined;
  for (let first = state.entries.peek(); first?.standing === "settled"; first = state.entries.peek()) {
    passed = first;
    state.entries.shift();
  }
  const last = passed?.last;
  if (last === undefined || last === null) return;
  state.lastId = last.id;
  state.lastTs = last.ts;
}

/** Looked for among all: each delivery would pay for a list of them, and few ask. */
export function inFlightOf(state: Delivery): Entry[] {
  const found: Entry[] = [];
  if (state.inFlight === 0) return found;
  state.entries.forEach((entry) => {
    if (entry.standing === "in-flight") found.push(entry);
  });
  return found;
}

/** How many of the events up to `seq` are not settled. */
export function unsettledThrough(state: Delivery, seq: Seq): number {
  let count = 0;
  state.entries.forEach((entry) => {
    if (entry.seq <= seq && entry.standing !== "settled") count++;
  });
  return count;
}

/**
 * What the store must know so that a successor can go on. First tries need no mention, the mark speaks for them. `through`: everything
 * up to here will be settled before, or in the same commit.
 */
export function cursorOf(state: Delivery, mark: Seq, through: Seq = 0): Cursor {
  if (isBare(state))
    return { floor: state.high, settled: NONE, attempts: NONE, mark, unclean: uncleanAt(state, state.high) };
  const settled: [Seq, Seq][] = [];
  const attempts: Attempt[] = [];
  let floor = -1;
  let from = 0;
  state.entries.forEach((entry) => {
    if (entry.standing === "settled" || entry.seq <= through) return;
    if (floor < 0) floor = entry.seq - 1;
    // What lies between unsettled ones is settled.
    else if (entry.seq > from) settled.push([from, entry.seq - 1]);
    from = entry.seq + 1;
    if (isTold(entry, mark)) attempts.push(attemptOf(entry));
  });
  if (floor < 0) floor = state.high;
  else if (state.high >= from) settled.push([from, state.high]);
  // Events that were not taken in again yet keep what the last cursor said of them.
  for (const [start, end] of state.settledBefore) {
    if (end > state.high) addRange(settled, Math.max(start, state.high + 1), end);
  }
  if (settled[0]?.[0] === floor + 1) floor = (settled.shift() as [Seq, Seq])[1];
  for (const attempt of state.past.values()) if (attempt.seq > state.high) attempts.push(attempt);
  attempts.sort((a, b) => a.seq - b.seq);
  return {
    floor,
    settled,
    attempts,
    mark,
    unclean: uncleanAt(state, floor),
    ...(state.suspect === undefined ? undefined : { suspect: state.suspect }),
    ...(state.heldKeys.size === 0 ? undefined : { held: [...state.heldKeys.values()].map(toldHeld) }),
  };
}

const NONE: readonly never[] = Object.freeze([]);

/** Everything that was taken in is settled, and there is nothing else to tell. */
function isBare({ entries, past, settledBefore, suspect, heldKeys }: Delivery): boolean {
  return (
    entries.length === 0 &&
    past.size === 0 &&
    settledBefore.length === 0 &&
    suspect === undefined &&
    heldKeys.size === 0
  );
}

/** Unclean ends in a row count only while there is no progress. */
function uncleanAt(state: Delivery, floor: Seq): number {
  return floor > state.claimFloor ? 0 : state.unclean;
}

function toldHeld({ key, after, last, depth, sinceMs }: Held): HeldKey {
  return { key, after, last, depth, sinceMs };
}

/**
 * The cursor of an owner that leaves cleanly: its mark is the floor, so that first tries are told one by one. Or it speaks for what
 * earlier owners may have handed out and this one never took in.
 */
export function lastCursorOf(state: Delivery): Cursor {
  return cursorOf(state, state.redeliverThrough > state.high ? state.redeliverThrough : floorOf(state));
}

/** A first try below the mark goes without saying; not one above it. */
function isTold(entry: Entry, mark: Seq): boolean {
  return entry.delivered > 1 || entry.failures > 0 || (entry.delivered > 0 && entry.seq > mark);
}

function attemptOf(entry: Entry): Attempt {
  return {
    seq: entry.seq,
    delivered: entry.delivered,
    failures: entry.failures,
    ...(entry.story.error === undefined ? undefined : { error: entry.story.error }),
    ...(entry.retryAtMs > 0 ? { retryAtMs: entry.retryAtMs, waitMs: entry.story.waitMs } : undefined),
  };
}

function addRange(ranges: [Seq, Seq][], start: Seq, end: Seq): void {
  const last = ranges.at(-1);
  if (last !== undefined && last[1] + 1 >= start) last[1] = end;
  else ranges.push([start, end]);
}

/** Whether an earlier owner settled `seq`. Asked in ascending order only. */
export function wasSettled(state: Delivery, seq: Seq): boolean {
  let range = state.settledBefore[state.settledIndex];
  while (range !== undefined && range[1] < seq) range = state.settledBefore[++state.settledIndex];
  return range !== undefined && range[0] <= seq;
}
