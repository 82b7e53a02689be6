/** What the dumps at the end of a history say: which events are where, and how far each group came. */
import type { Seq } from "../../model/event.js";
import type { Cursor } from "../../ports/groups.js";
import type { GroupPlace, HistoryEvent, LoggedEvent } from "./history.js";

/** An event of a log, with its place. */
export interface Located extends LoggedEvent {
  readonly topic: string;
  readonly partition: number;
}

/** What is left when a run is over. */
export interface EndState {
  /** By "topic/partition", in the order of the log. */
  readonly logs: ReadonlyMap<string, readonly Located[]>;
  /** Everything in the logs, by id. */
  readonly byId: ReadonlyMap<string, readonly Located[]>;
  /** By "topic/partition": up to where events went with a topic that somebody wanted gone. */
  readonly removed: ReadonlyMap<string, Seq>;
  readonly cursors: ReadonlyMap<string, Cursor>;
  readonly drained: boolean;
}

export function endState(history: readonly HistoryEvent[]): EndState {
  const logs = new Map<string, Located[]>();
  const byId = new Map<string, Located[]>();
  const cursors = new Map<string, Cursor>();
  for (const event of history) {
    if (event.type === "cursor") cursors.set(placeName(event), event.cursor);
    if (event.type !== "log") continue;
    const { topic, partition } = event;
    const located = event.events.map((logged) => ({ ...logged, topic, partition }));
    logs.set(logName(topic, partition), located);
    for (const one of located) byId.set(one.id, [...(byId.get(one.id) ?? []), one]);
  }
  return {
    logs,
    byId,
    removed: removedIn(history),
    cursors,
    drained: history.some((event) => event.type === "drained"),
  };
}

/** What nobody asked for is no removal. */
function removedIn(history: readonly HistoryEvent[]): Map<string, Seq> {
  const removed = new Map<string, Seq>();
  const unwanted = new Set<string>();
  for (const event of history) {
    if (event.type === "removal-asked") unwanted.add(event.topic);
    if (event.type !== "trimmed" || !unwanted.has(event.topic)) continue;
    const log = logName(event.topic, event.partition);
    removed.set(log, Math.max(event.through, removed.get(log) ?? 0));
  }
  return removed;
}

/** Whether the cursor counts `seq` as settled. */
export function covers(cursor: Cursor, seq: number): boolean {
  return seq <= cursor.floor || cursor.settled.some(([from, to]) => from <= seq && seq <= to);
}

export function logName(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

export function placeName(place: GroupPlace): string {
  return `${place.group} on ${logName(place.topic, place.partition)}`;
}

/** An event for people: topic/partition:seq (id). */
export function eventName(event: { topic: string; partition: number; seq: number; id: string }): string {
  return `${logName(event.topic, event.partition)}:${event.seq} (${event.id})`;
}
