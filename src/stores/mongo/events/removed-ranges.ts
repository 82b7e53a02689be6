/**
 * Ranges of removed seqs: which documents must become ranges, grow, or go, so that afterwards every removed seq lies in
 * exactly one range and no two ranges touch. Pure.
 */
import type { Timestamp } from "mongodb";
import type { Seq } from "../../../model/event.js";
import type { RangePart } from "../collections.js";
import type { RemovedRange } from "./event-lookup.js";

/** Parts that a range remembers; older ones are taken together. */
const MAX_PARTS = 32;

export interface RangeChange {
  /** The document at `from` becomes, or stays, the range [from, to]. Parts without a time are removed just now. */
  readonly ranges: readonly Required<RemovedRange>[];
  /** Documents that go: events inside a range, and ranges that others took in. */
  readonly gone: readonly Seq[];
}

/**
 * What removing `seqs` (ascending, each an event that is present) does to `present`, the ranges (ascending) that touch
 * or lie between them.
 */
export function removeSeqs(seqs: readonly Seq[], present: readonly RemovedRange[]): RangeChange {
  const pieces = [...seqs.map((seq) => ({ from: seq, to: seq })), ...present].sort((a, b) => a.from - b.from);
  const merged: { from: Seq; to: Seq; parts: RangePart[] }[] = [];
  const gone: Seq[] = [];
  for (const piece of pieces) {
    const last = merged.at(-1);
    const parts = "parts" in piece ? (piece.parts ?? []) : [{ from: piece.from, to: piece.to }];
    if (last !== undefined && piece.from <= last.to + 1) {
      last.to = Math.max(last.to, piece.to);
      last.parts.push(...parts);
      gone.push(piece.from);
    } else {
      merged.push({ from: piece.from, to: piece.to, parts: [...parts] });
    }
  }
  const unchanged = new Set(present.map(({ from, to }) => `${from}-${to}`));
  const changed = merged.filter(({ from, to }) => !unchanged.has(`${from}-${to}`));
  return { ranges: changed.map((range) => ({ ...range, parts: fewerParts(range.parts) })), gone };
}

/** Neighbours of one time become one part; of too many, the oldest are taken together, at the earliest of their times. */
export function fewerParts(parts: readonly RangePart[]): RangePart[] {
  const fewer: RangePart[] = [];
  for (const part of parts) {
    const last = fewer.at(-1);
    if (last !== undefined && isSameTime(last.at, part.at)) fewer[fewer.length - 1] = joined(last, part);
    else fewer.push(part);
  }
  while (fewer.length > MAX_PARTS) fewer.splice(0, 2, joined(fewer[0] as RangePart, fewer[1] as RangePart));
  return fewer;
}

/** Whether `seq`, which lies in the range, was removed after what happened at `at`: false if nobody can tell. */
export function removedSince(range: RemovedRange, seq: Seq, at: Timestamp | undefined): boolean {
  const part = range.parts?.find(({ from, to }) => from <= seq && seq <= to);
  return at !== undefined && part?.at !== undefined && part.at.compare(at) >= 0;
}

function isSameTime(a: Timestamp | undefined, b: Timestamp | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b);
}

function joined(a: RangePart, b: RangePart): RangePart {
  const earlier = a.at === undefined || b.at === undefined || a.at.compare(b.at) <= 0 ? a.at : b.at;
  const at = a.at === undefined || b.at === undefined ? undefined : earlier;
  return { from: a.from, to: b.to, ...(at === undefined ? undefined : { at }) };
}
