/**
 * Changelog projector: a topic becomes a view. Each event replaces its key's document or, as a tombstone, removes it.
 * Versions only grow (seq unless told otherwise), so a redelivery or a late event changes nothing; it is counted.
 * Within a batch the last write of a key wins and the others are never sent.
 */
import { BusError } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import type { JsonObject } from "../model/json.js";
import type { Handle } from "../model/task.js";
import type { TopicRef } from "../model/topic.js";
import { topicName } from "../model/topic.js";
import type { DocumentWrite, ViewIndex } from "../ports/documents.js";
import type { Host } from "./host.js";
import { subscribedTask } from "./running-task.js";
import { checkViewName } from "./view.js";
import { rememberView } from "./view-definitions.js";

export interface ChangelogOptions<T = unknown> {
  readonly topic: TopicRef<T>;
  /** The view's name; `collection` is its older name. */
  readonly view?: string;
  readonly collection?: string;
  /** Default: the event's key. Events without one are passed over. */
  readonly keyOf?: (event: EventRecord<T>) => string | undefined;
  /** Default: the payload, which must be an object then. */
  readonly map?: (event: EventRecord<T>) => object;
  /** Default: payload `null`, or an object with `_deleted: true`; this one is asked besides. */
  readonly tombstone?: (event: EventRecord<T>) => boolean;
  readonly indexes?: readonly ViewIndex[];
  /** Default: seq, which is right as long as a key stays in its partition. */
  readonly versionOf?: (event: EventRecord<T>) => number | undefined;
  /** Default `changelog:<view>`. */
  readonly group?: string;
  readonly batchSize?: number;
}

export interface ChangelogStats {
  readonly [name: string]: number;
  readonly events: number;
  readonly applied: number;
  readonly stale: number;
  readonly passedOver: number;
}

/**
 * @example
 * await startChangelogProjector(bus, { topic: "process.state", view: "processes", indexes: [{ keys: { host: 1 } }] });
 */
export async function startChangelogProjector<T>(
  host: Host,
  options: ChangelogOptions<T>,
): Promise<Handle<ChangelogStats>> {
  const view = options.view ?? options.collection;
  checkViewName(view);
  const { documents } = host.store;
  await documents.define(view, options.indexes ?? []);
  await rememberView(host, view, options);
  const stats = { events: 0, applied: 0, stale: 0, passedOver: 0 };
  const project = async (events: readonly EventRecord<T>[]): Promise<void> => {
    const writes = lastWrites(events, options);
    const result = writes.length === 0 ? { applied: 0, stale: 0 } : await documents.write(view, writes);
    stats.events += events.length;
    stats.applied += result.applied;
    stats.stale += result.stale;
    stats.passedOver += events.length - writes.length;
  };
  const group = options.group ?? `changelog:${view}`;
  const stop = await host.subscribeBatch<T>(options.topic, group, project, {
    from: "earliest",
    batchSize: options.batchSize ?? 500,
    maxInFlight: options.batchSize ?? 500,
  });
  const name = `changelog ${topicName(options.topic)} → ${view}`;
  const { clock, tasks } = host;
  return subscribedTask({ kind: "changelog", name, clock, board: tasks, stats: () => ({ ...stats }) }, stop);
}

/** One write for each key: that of its newest event. */
export function lastWrites<T>(
  events: readonly EventRecord<T>[],
  options: ChangelogOptions<T>,
): DocumentWrite[] {
  const writes = new Map<string, DocumentWrite>();
  for (const event of events) {
    const write = writeOf(event, options);
    const earlier = write && writes.get(write.key);
    if (write === null || (earlier && (earlier.version as number) > (write.version as number))) continue;
    writes.set(write.key, write);
  }
  return [...writes.values()];
}

function writeOf<T>(event: EventRecord<T>, options: ChangelogOptions<T>): DocumentWrite | null {
  const key = options.keyOf === undefined ? event.key : options.keyOf(event);
  if (key === undefined || key === "") return null;
  const version = options.versionOf?.(event) ?? event.seq;
  if (isTombstone(event, options)) return { op: "delete", key, version, ts: event.ts };
  return { op: "upsert", key, version, ts: event.ts, fields: fieldsOf(event, options) };
}

function isTombstone<T>(event: EventRecord<T>, options: ChangelogOptions<T>): boolean {
  const payload = event.payload as { _deleted?: unknown } | null;
  return (
    payload === null ||
    (typeof payload === "object" && payload._deleted === true) ||
    options.tombstone?.(event) === true
  );
}

function fieldsOf<T>(event: EventRecord<T>, options: ChangelogOptions<T>): JsonObject {
  const fields: unknown = options.map === undefined ? event.payload : options.map(event);
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
    throw new BusError(
      "INVALID_PAYLOAD",
      `event ${event.id} is not an object: give startChangelogProjector a map`,
    );
  }
  return fields as JsonObject;
}
