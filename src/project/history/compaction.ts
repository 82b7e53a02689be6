/**
 * Compaction of one partition: which events may go (P11). No I/O, no clock; compactor.ts performs it.
 *
 * Everything up to `cleaned` holds each key about once. A round first looks through a stretch above it and learns the
 * newest seq of every key there (NewestSeqs, bounded in keys: the stretch ends where the bound is reached), then removes
 * what those supersede, in the stretch and below. An event goes only when a newer one of its key is in the log, so that
 * being interrupted anywhere, or running twice, changes no key's newest value. A dead letter that came back for one group
 * supersedes nothing: the others never get it, and would be left without the key.
 *
 * A tombstone goes when nothing but tombstones of its key has been left for as long as its retention, and every group's
 * cursor is past it: whoever reads on, outside any group, from before what it deleted has until then to come to it. When
 * the next one may go is remembered, so that nothing is looked through in vain.
 */
import type { Seq, StoredEvent } from "../../model/event.js";
import type { JsonValue } from "../../model/json.js";
import { isForOneGroup } from "../../model/redrive.js";
import { isTombstoneEvent } from "../tombstone.js";

export interface CompactionProgress {
  readonly cleaned: Seq;
  /** Something may have been removed because of events up to here; written before that happens. */
  readonly reached: Seq;
  /** The earliest time at which a tombstone below `cleaned` may go; null if there is none. */
  readonly tombstonesDueMs: number | null;
  /** When tombstones were last looked for. */
  readonly sweptMs: number;
  /** Since when what tombstones up to a seq delete is gone; both ascend. */
  readonly cleanings: readonly Cleaning[];
}

export type Cleaning = readonly [through: Seq, atMs: number];

export const NOTHING_CLEANED: CompactionProgress = {
  cleaned: 0,
  reached: 0,
  tombstonesDueMs: null,
  sweptMs: 0,
  cleanings: [],
};

/** Younger than this by the clock, an event that is superseded stays: what stands within it can still be asked for. */
export interface Window {
  readonly fromMs: number;
  readonly nowMs: number;
}

/**
 * Whether the clean part must end before this event. A ts beyond the present is wrong, and must not keep the rest of
 * the log from being compacted.
 */
export function isWithin(window: Window, event: StoredEvent): boolean {
  return event.ts > window.fromMs && event.ts <= window.nowMs;
}

/** The newest seq of each key in a stretch. */
export class NewestSeqs {
  readonly #seqs = new Map<string, Seq>();
  #events = 0;

  get size(): number {
    return this.#seqs.size;
  }

  /** Events seen. */
  get events(): number {
    return this.#events;
  }

  keys(): Iterable<string> {
    return this.#seqs.keys();
  }

  /** In seq order. */
  see(event: StoredEvent): void {
    this.#events++;
    if (event.key !== undefined && !isForOneGroup(event.meta?.headers)) this.#seqs.set(event.key, event.seq);
  }

  supersedes(event: StoredEvent): boolean {
    return event.key !== undefined && (this.#seqs.get(event.key) ?? 0) > event.seq;
  }
}

/** As little of one as its end needs: the event itself may hold on to a whole page of the log. */
export interface Tombstone {
  readonly seq: Seq;
  readonly ts: number;
  readonly key: string;
}

/** What stands in a page: seqs that are superseded, and tombstones that are not. */
export function sortPage(
  events: readonly StoredEvent[],
  newest: NewestSeqs,
): { superseded: Seq[]; tombstones: Tombstone[] } {
  const superseded: Seq[] = [];
  const tombstones: Tombstone[] = [];
  for (const event of events) {
    const { seq, ts, key } = event;
    if (newest.supersedes(event)) superseded.push(seq);
    else if (key !== undefined && isTombstoneEvent(event)) tombstones.push({ seq, ts, key });
  }
  return { superseded, tombstones };
}

/** Looking up the older events of a key costs about as much as looking through this many events. */
const LOOKUP_COST = 30;

/** Whether to look through all of the clean part for what a stretch supersedes, or to look up each of its keys. */
export function scansCleanPart(newest: NewestSeqs, cleanEvents: number): boolean {
  return cleanEvents <= newest.size * LOOKUP_COST;
}

/** Tombstones are looked for when one is due, but not more often than ten times in their retention. */
export function sweepsTombstones(
  progress: CompactionProgress,
  nowMs: number,
  tombstoneRetentionMs: number,
): boolean {
  return (
    progress.tombstonesDueMs !== null &&
    nowMs >= progress.tombstonesDueMs &&
    nowMs >= progress.sweptMs + tombstoneRetentionMs / 10
  );
}

/** Times of cleanings are told apart by this share of the retention: so few are remembered. */
const CLEANINGS = 16;

/** When a round that ends now will have cleaned: not before that. */
function cleaningMs(nowMs: number, tombstoneRetentionMs: number): number {
  const stepMs = tombstoneRetentionMs / CLEANINGS;
  return stepMs === 0 ? nowMs : Math.ceil(nowMs / stepMs) * stepMs;
}

/** When a tombstone may go, as far as time decides. What no round before has come to is being cleaned now. */
export function dueMsOf(
  { seq, ts }: Tombstone,
  cleanings: readonly Cleaning[],
  nowMs: number,
  tombstoneRetentionMs: number,
): number {
  const known = cleanings.find(([through]) => seq <= through);
  const cleanedMs = known?.[1] ?? cleaningMs(nowMs, tombstoneRetentionMs);
  return Math.max(ts, cleanedMs) + tombstoneRetentionMs;
}

/** With the round that ends now. Of those whose retention is over the last one says all; one from the future had a wrong clock. */
export function withCleaning(
  cleanings: readonly Cleaning[],
  through: Seq,
  nowMs: number,
  tombstoneRetentionMs: number,
): readonly Cleaning[] {
  const atMs = cleaningMs(nowMs, tombstoneRetentionMs);
  const before = cleanings.filter((one) => one[0] < through && one[1] < atMs);
  const isNew = !cleanings.some((one) => one[0] >= through && one[1] <= atMs);
  const over = before.findLastIndex((one) => one[1] + tombstoneRetentionMs <= nowMs);
  return isNew ? [...before.slice(Math.max(0, over)), [through, atMs]] : cleanings;
}

/** The earliest of the two times; null stands for "never". */
export function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

export function progressOf(value: JsonValue | undefined): CompactionProgress {
  return { ...NOTHING_CLEANED, ...(value as Partial<CompactionProgress> | undefined) };
}

export function progressValue(progress: CompactionProgress): JsonValue {
  return { ...progress } as unknown as JsonValue;
}
