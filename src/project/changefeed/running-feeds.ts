/** The change feeds that run, in whatever process, as the store knows them: each signs its place in the registry now and then. */
import type { Registry } from "../../ports/registry.js";

export const FEED_PREFIX = "changefeed:";

/** A feed's place, as it is stored. */
export interface StoredPlace {
  readonly owner: string | null;
  readonly aliveMs: number;
  /** Extended JSON: tokens and times are no JSON. */
  readonly place: string;
  /** Where it publishes, and for how long it may be silent. Absent of feeds that were last run by an earlier release. */
  readonly topic?: string;
  readonly silentMs?: number;
  /** Exact ids of new documents that may have been published, though nothing of them is remembered. */
  readonly underWay?: readonly string[];
  /** What it has published was removed: it has to scan before it goes on. */
  readonly isForgotten?: true;
}

/** Whether a process runs the feed now. A clock that was set counts as silence, in either direction. */
export function isRunning({ owner, aliveMs }: StoredPlace, silentMs: number, nowMs: number): boolean {
  return owner !== null && Math.abs(nowMs - aliveMs) < silentMs;
}

/** Names of the feeds that publish to this topic now. */
export async function runningFeeds(registry: Registry, topic: string, nowMs: number): Promise<string[]> {
  const feeds = [...(await registry.tokens(FEED_PREFIX))];
  return feeds
    .filter(([, { value }]) => {
      const stored = value as unknown as StoredPlace;
      return stored.topic === topic && isRunning(stored, stored.silentMs ?? 0, nowMs);
    })
    .map(([name]) => name.slice(FEED_PREFIX.length));
}
