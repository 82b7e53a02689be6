/**
 * Changelog projector: a topic becomes a view. Each event replaces its key's document or, as a tombstone, removes it.
 * Versions only grow (seq unless told otherwise), so a redelivery or a late event changes nothing; it is counted. A dead
 * letter that comes back has the version of the event it was made of: it replaces nothing newer.
 * Within a batch the highest version of a key wins and the others are never sent.
 */
import { BusError, Fatal } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import type { Stop } from "../../model/event-bus.js";
import type { JsonObject } from "../../model/json.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import { firstSeqOf } from "../../model/redrive.js";
import type { Handle } from "../../model/task.js";
import type { TopicRef } from "../../model/topic.js";
import { checkTopicName, topicName } from "../../model/topic.js";
import type { DocumentWrite, ViewIndex } from "../../ports/documents.js";
import { restartGroup } from "../group-pause.js";
import { checkHost, type Host } from "../host.js";
import { checkFunctions, checkIndexes, checkObject, checkRange } from "../option-checks.js";
import { subscribedTask } from "../running-task.js";
import { TaskHealth } from "../task-health.js";
import { isTombstone } from "../tombstone.js";
import { BuildFollower } from "./build-follower.js";
import { TombstonePurge } from "./tombstone-purge.js";
import { checkKeptName } from "./view.js";
import { isKnownView, rememberView } from "./view-definitions.js";
import { readPointer } from "./view-pointer.js";

/** Which topic a changelog projector reads, and how an event becomes a document. */
export interface ChangelogOptions<T = unknown> {
  /** Which to read. */
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
  /** Fields by which the view is searched. */
  readonly indexes?: readonly ViewIndex[];
  /** Default: seq, which is right as long as a key stays in its partition. */
  readonly versionOf?: (event: EventRecord<T>) => number | undefined;
  /** Default `changelog:<view>`. */
  readonly group?: string;
  readonly batchSize?: number;
  /** How long the view remembers that a document was deleted, so that late events do not bring it back. Default one day. */
  readonly keepTombstonesMs?: number;
}

/** Of a changelog projector, and of what is told of one. */
export const CHANGELOG_OPTIONS = namesOf<ChangelogOptions>({
  topic: true,
  view: true,
  collection: true,
  keyOf: true,
  map: true,
  tombstone: true,
  indexes: true,
  versionOf: true,
  group: true,
  batchSize: true,
  keepTombstonesMs: true,
});

/** What a changelog projector has done: events taken in, writes that counted and that came too late. */
export interface ChangelogStats {
  readonly [name: string]: number;
  readonly events: number;
  readonly applied: number;
  readonly stale: number;
  readonly passedOver: number;
  /** Tombstones removed from the view. */
  readonly purged: number;
}

/**
 * Keeps the newest value of each key of a topic as a view. A late or repeated event changes nothing.
 *
 * @example
 * await startChangelogProjector(bus, { topic: "process.state", view: "processes", indexes: [{ keys: { host: 1 } }] });
 */
export async function startChangelogProjector<T>(
  host: Host,
  options: ChangelogOptions<T>,
): Promise<Handle<ChangelogStats>> {
  checkHost(host);
  const view = checkedView(options);
  await rememberView(host, view, options);
  const stats = { events: 0, applied: 0, stale: 0, passedOver: 0, purged: 0 };
  const health = new TaskHealth();
  const purge = new TombstonePurge(host.store.documents, host.clock, options.keepTombstonesMs);
  const follower = await BuildFollower.start({
    clock: host.clock,
    current: async () => (await readPointer(host.store.registry, view)).current,
    attach: (build) => {
      purge.watch(build);
      return feedView(host, build, groupOf(view, build, options.group), options, stats, health);
    },
    round: async () => {
      if (!(await isKnownView(host, view))) await makeAnew(host, view, options);
      stats.purged += await purge.round();
    },
  });
  const name = `changelog ${topicName(options.topic)} → ${view}`;
  const { clock, tasks } = host;
  const task = { kind: "changelog", name, clock, board: tasks, stats: (): ChangelogStats => ({ ...stats }) };
  return subscribedTask(task, () => follower.stop(), health);
}

/** It was removed while its projector started, or was taken for dead, whose group would go on where it stood. */
async function makeAnew<T>(host: Host, view: string, options: ChangelogOptions<T>): Promise<void> {
  const { documents, registry } = host.store;
  const { current } = await readPointer(registry, view);
  await documents.define(current, options.indexes ?? []);
  await restartGroup(host, { topic: topicName(options.topic), group: groupOf(view, current, options.group) });
  await rememberView(host, view, options);
}

function checkedView<T>(options: ChangelogOptions<T>): string {
  checkObject("startChangelogProjector", options);
  checkOptionNames("startChangelogProjector", options, CHANGELOG_OPTIONS);
  checkTopicName(topicName(options.topic));
  const view = options.view ?? options.collection;
  checkKeptName(view);
  const { keyOf, map, tombstone, versionOf } = options;
  checkFunctions({ keyOf, map, tombstone, versionOf });
  checkIndexes(options.indexes);
  checkRange("batchSize", options.batchSize, 1);
  checkRange("keepTombstonesMs", options.keepTombstonesMs, 0);
  return view;
}

const BATCHES_AT_ONCE = 3;

/** The group that feeds a build; only of the first one may it be chosen. */
export function groupOf(view: string, build: string, chosen?: string): string {
  return chosen === undefined || build !== view ? `changelog:${build}` : chosen;
}

/** Projects the topic into one table, from its first event on. */
export async function feedView<T>(
  host: Host,
  table: string,
  group: string,
  options: ChangelogOptions<T>,
  stats: { events: number; applied: number; stale: number; passedOver: number },
  health = new TaskHealth(),
): Promise<Stop> {
  const { documents } = host.store;
  await documents.define(table, options.indexes ?? []);
  const project = async (events: readonly EventRecord<T>[]): Promise<void> => {
    const writes = buryInvalid(() => lastWrites(events, options, host.clock.now()));
    const result = writes.length === 0 ? { applied: 0, stale: 0 } : await documents.write(table, writes);
    stats.events += events.length;
    stats.applied += result.applied;
    stats.stale += result.stale;
    stats.passedOver += events.length - writes.length;
  };
  const batchSize = options.batchSize ?? 500;
  return host.subscribeBatch<T>(options.topic, group, health.around(project), {
    from: "earliest",
    batchSize,
    // A key is in one batch at a time, so several may be under way: the store is never idle between two of them.
    maxInFlight: batchSize * BATCHES_AT_ONCE,
  });
}

/** An event stays what it is: one that cannot be written at all is a dead letter at once, without retries. */
function buryInvalid<R>(make: () => R): R {
  try {
    return make();
  } catch (error) {
    throw BusError.is(error, "INVALID_PAYLOAD") ? new Fatal(error.message, { cause: error }) : error;
  }
}

/**
 * One write for each key: that of its highest version, of several the first, as if they were written one by one. A view
 * remembers a deletion from `nowMs` on, however old the event is.
 */
export function lastWrites<T>(
  events: readonly EventRecord<T>[],
  options: ChangelogOptions<T>,
  nowMs = 0,
): DocumentWrite[] {
  const writes = new Map<string, DocumentWrite>();
  for (const event of events) {
    const write = writeOf(event, options, nowMs);
    const earlier = write && writes.get(write.key);
    if (write === null || (earlier && (earlier.version as number) >= (write.version as number))) continue;
    writes.set(write.key, write);
  }
  return [...writes.values()];
}

function writeOf<T>(
  event: EventRecord<T>,
  options: ChangelogOptions<T>,
  nowMs: number,
): DocumentWrite | null {
  const key = keyIn(event, options);
  if (key === null) return null;
  const version = options.versionOf?.(event) ?? firstSeqOf(event);
  if (!Number.isFinite(version)) throw refused(event, "versionOf", "a number");
  if (deletes(event, options)) return { op: "delete", key, version, ts: Math.max(event.ts, nowMs) };
  return { op: "upsert", key, version, ts: event.ts, fields: fieldsOf(event, options) };
}

/** Null if the event is passed over. */
export function keyIn<T>(event: EventRecord<T>, options: Pick<ChangelogOptions<T>, "keyOf">): string | null {
  const key = options.keyOf === undefined ? event.key : (options.keyOf(event) ?? undefined);
  if (key === undefined || key === "") return null;
  if (typeof key !== "string") throw refused(event, "keyOf", "a string");
  // UTF-8 has no place for half of a surrogate pair: stored, two keys would become one.
  if (!key.isWellFormed()) throw refused(event, "keyOf", "whole characters");
  return key;
}

function refused({ id }: EventRecord, option: string, wanted: string): BusError {
  return new BusError("INVALID_PAYLOAD", `of event ${id}, ${option} gave something else than ${wanted}`);
}

function deletes<T>(event: EventRecord<T>, options: ChangelogOptions<T>): boolean {
  return isTombstone(event.payload) || options.tombstone?.(event) === true;
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
