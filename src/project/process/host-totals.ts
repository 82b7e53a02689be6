/** What the processes of a host add up to, and how a change of one of them changes that. Pure. */
import type { ProcessState } from "./process-topics.js";

export interface HostTotals {
  readonly host: string;
  readonly alive: number;
  readonly stale: number;
  /** Of those that are alive. */
  readonly cpu_pct: number;
  readonly mem_mb: number;
}

/** What one process adds to its host. */
export type Share = Pick<ProcessState, "host" | "status" | "cpu_pct" | "mem_mb">;

export function noTotals(host: string): HostTotals {
  return { host, alive: 0, stale: 0, cpu_pct: 0, mem_mb: 0 };
}

/** Undefined stands for a process that is not there. */
export function changedTotals(
  totals: HostTotals,
  before: Share | undefined,
  after: Share | undefined,
): HostTotals {
  const [less, more] = [amounts(before), amounts(after)];
  return {
    host: totals.host,
    alive: totals.alive - less.alive + more.alive,
    stale: totals.stale - less.stale + more.stale,
    cpu_pct: tenths(totals.cpu_pct - less.cpu_pct + more.cpu_pct),
    mem_mb: tenths(totals.mem_mb - less.mem_mb + more.mem_mb),
  };
}

function amounts(share: Share | undefined): Omit<HostTotals, "host"> {
  if (share === undefined) return { alive: 0, stale: 0, cpu_pct: 0, mem_mb: 0 };
  if (share.status === "stale") return { alive: 0, stale: 1, cpu_pct: 0, mem_mb: 0 };
  return { alive: 1, stale: 0, cpu_pct: tenths(share.cpu_pct), mem_mb: tenths(share.mem_mb) };
}

/** Sums of decimals drift; sums of whole tenths do not. */
function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
