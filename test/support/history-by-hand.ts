/** Histories written down by hand, for the checker's tests: one group "g" on partition 0 of "t". */
import { type Cursor, START_CURSOR } from "../../src/ports/groups.js";
import type { AnomalyClass } from "../../src/testing/history/anomaly.js";
import { checkHistory } from "../../src/testing/history/checker.js";
import type { HistoryEvent, LoggedEvent } from "../../src/testing/history/history.js";

export const place = { group: "g", topic: "t", partition: 0 } as const;
export const cursor = (floor: number, settled: Cursor["settled"] = []): Cursor => ({
  ...START_CURSOR,
  floor,
  settled,
  mark: 100,
});

export const subscribed = (
  maxAttempts = 2,
  ordering: "key" | "partition" | "none" = "key",
): HistoryEvent => ({
  type: "subscribed",
  group: "g",
  topic: "t",
  ordering,
  maxAttempts,
});
export const asked = (op: number, id: string, topic = "t"): HistoryEvent => ({
  type: "publish-asked",
  op,
  producer: "p",
  topic,
  id,
});
export const ok = (op: number, seq: number, duplicate = false): HistoryEvent => ({
  type: "publish-ok",
  op,
  partition: 0,
  seq,
  duplicate,
});
export const logOf = (...events: readonly LoggedEvent[]): HistoryEvent => ({
  type: "log",
  topic: "t",
  partition: 0,
  events,
});
/** Events 1, 2 … of one key, with ids e1, e2 … */
export const keyed = (count: number): HistoryEvent =>
  logOf(...Array.from({ length: count }, (_, i) => ({ seq: i + 1, id: `e${i + 1}`, key: "k" })));
export const published = (count: number): HistoryEvent[] =>
  Array.from({ length: count }, (_, i) => [asked(i + 1, `e${i + 1}`), ok(i + 1, i + 1)]).flat();

export const started: HistoryEvent = { ...place, type: "started", floor: 0 };
export const granted = (epoch: number, from: Cursor = START_CURSOR): HistoryEvent => ({
  ...place,
  type: "granted",
  member: `m${epoch}`,
  epoch,
  cursor: from,
});
export const handling = (seq: number, epoch: number, attempt: number) => ({
  ...place,
  member: `m${epoch}`,
  seq,
  id: `e${seq}`,
  epoch,
  attempt,
});
export const delivered = (seq: number, epoch = 1, attempt = 1, batch?: number): HistoryEvent => ({
  ...handling(seq, epoch, attempt),
  type: "delivered",
  key: "k",
  ...(batch !== undefined && { batch }),
});
export const acked = (seq: number, epoch = 1, attempt = 1, op?: number): HistoryEvent => ({
  ...handling(seq, epoch, attempt),
  type: "settled",
  outcome: "acked",
  ...(op !== undefined && { op }),
});
export const filtered = (seq: number): HistoryEvent => ({ ...place, type: "filtered", seq, id: `e${seq}` });
export const failed = (seq: number, attempt = 1, reason: "threw" | "fatal" = "threw"): HistoryEvent => ({
  ...handling(seq, 1, attempt),
  type: "failed",
  reason,
});
export const buried = (seq: number, epoch = 1): HistoryEvent => ({
  ...place,
  type: "dead-lettered",
  seq,
  id: `e${seq}`,
  epoch,
});
export const committed = (epoch: number, to: Cursor, released = false): HistoryEvent => ({
  ...place,
  type: "committed",
  epoch,
  cursor: to,
  released,
});
export const final = (to: Cursor): HistoryEvent => ({ ...place, type: "cursor", epoch: 1, cursor: to });
export const drained: HistoryEvent = { type: "drained" };
export const moved = (to: Cursor): HistoryEvent => ({ ...place, type: "moved", cursor: to });

export function classes(history: readonly HistoryEvent[]): AnomalyClass[] {
  return [...new Set(checkHistory(history).map((anomaly) => anomaly.class))];
}

/** What a group does with a log of `count` keyed events, up to where a test takes over. */
export const owned = (count: number, maxAttempts = 2): HistoryEvent[] => [
  subscribed(maxAttempts),
  ...published(count),
  started,
  granted(1),
  keyed(count),
];
