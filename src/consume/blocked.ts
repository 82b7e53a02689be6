/** What holds a partition up: events that failed and wait for their next try, with what waits behind them. */
import type { Seq } from "../model/event.js";
import type { Delivery } from "./delivery-state.js";
import type { Entry } from "./entry.js";

export interface Blocked {
  readonly seq: Seq;
  readonly id: string;
  readonly key?: string;
  readonly failures: number;
  readonly maxAttempts?: number;
  readonly error?: string;
  readonly retryAtMs?: number;
  readonly running: boolean;
  /** Events of the same key that wait for it, as far as its owner has read, or whoever asks has looked. */
  readonly behind: number;
}

/** The longest queues first. */
export function blockedIn(state: Readonly<Delivery>): Blocked[] {
  const blocked: Blocked[] = [];
  for (const entry of state.entries) {
    if (entry.event !== null && entry.failures > 0 && entry.standing !== "waiting")
      blocked.push(describe(entry));
  }
  return blocked.sort((a, b) => b.behind - a.behind || a.seq - b.seq);
}

function describe(entry: Entry): Blocked {
  const { event } = entry;
  return {
    seq: entry.seq,
    id: event?.id ?? "",
    ...(event?.key === undefined ? undefined : { key: event.key }),
    failures: entry.failures,
    ...(entry.policy === null ? undefined : { maxAttempts: entry.policy.maxAttempts }),
    ...(entry.story.error === undefined ? undefined : { error: entry.story.error }),
    ...(entry.retryAtMs > 0 ? { retryAtMs: entry.retryAtMs } : undefined),
    running: entry.standing === "in-flight",
    behind: entry.lane?.queue?.length ?? 0,
  };
}
