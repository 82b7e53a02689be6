/** How many events were written and read in each version, since it began to count: the evidence before a cutover. */
import type { Meter } from "../../model/meter.js";
import { type TopicRef, topicName } from "../../model/topic.js";

/** Events by version; `none` for those without one. */
export type CountsByVersion = Readonly<Record<string, number>>;

/** How many events were written and read in which version since counting began. */
export interface VersionCounts {
  /** Published in each version: valid, or let through with a warning (`none`). */
  written(topic: TopicRef): CountsByVersion;
  /** Brought to the newest version by normalized subscriptions: the version that each was written in. */
  read(topic: TopicRef, group?: string): CountsByVersion;
  stop(): void;
}

/**
 * Counts the versions that this bus writes and reads, until it is stopped.
 *
 * @example
 * const counts = countVersions(bus);
 * counts.written("orders.placed");   // { "1": 120, "2": 4 }
 */
export function countVersions(bus: { observe(meter: Meter): () => void }): VersionCounts {
  const written = new Map<string, number>();
  const read = new Map<string, number>();
  const add = (counts: Map<string, number>, ...key: readonly unknown[]): void => {
    const text = JSON.stringify(key);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  };
  const stop = bus.observe({
    ...IDLE,
    validated(topic, version, outcome) {
      if (outcome !== "rejected") add(written, topic, null, version ?? "none");
    },
    normalized: (topic, group, version) => add(read, topic, group, version ?? "none"),
  });
  return {
    written: (topic) => tally(written, topicName(topic)),
    read: (topic, group) => tally(read, topicName(topic), group),
    stop,
  };
}

const ignore = (): void => undefined;
const IDLE: Meter = {
  published: ignore,
  delivered: ignore,
  acked: ignore,
  nacked: ignore,
  deadLettered: ignore,
  handled: ignore,
  polled: ignore,
  committed: ignore,
};

function tally(counts: ReadonlyMap<string, number>, topic: string, group?: string): CountsByVersion {
  const sums: Record<string, number> = {};
  for (const [key, count] of counts) {
    const [ofTopic, ofGroup, version] = JSON.parse(key) as [string, string | null, number | string];
    if (ofTopic !== topic || (group !== undefined && ofGroup !== group)) continue;
    sums[version] = (sums[version] ?? 0) + count;
  }
  return sums;
}
