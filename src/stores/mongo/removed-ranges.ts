/**
 * Ranges of removed seqs: which documents must become ranges, grow, or go, so that afterwards every removed seq lies in
 * exactly one range and no two ranges touch. Pure.
 */
import type { Seq } from "../../model/event.js";
import type { RemovedRange } from "./event-lookup.js";

export interface RangeChange {
  /** The document at `from` becomes, or stays, the range [from, to]. */
  readonly ranges: readonly RemovedRange[];
  /** Documents that go: events inside a range, and ranges that others took in. */
  readonly gone: readonly Seq[];
}

/**
 * What removing `seqs` (ascending, each an event that is present) does to `present`, the ranges (ascending) that touch
 * or lie between them.
 */
export function removeSeqs(seqs: readonly Seq[], present: readonly RemovedRange[]): RangeChange {
  const parts = [...seqs.map((seq) => ({ from: seq, to: seq })), ...present].sort((a, b) => a.from - b.from);
  const merged: { from: Seq; to: Seq }[] = [];
  const gone: Seq[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (last !== undefined && part.from <= last.to + 1) {
      last.to = Math.max(last.to, part.to);
      gone.push(part.from);
    } else {
      merged.push({ ...part });
    }
  }
  const unchanged = new Set(present.map(({ from, to }) => `${from}-${to}`));
  return { ranges: merged.filter(({ from, to }) => !unchanged.has(`${from}-${to}`)), gone };
}
