/** Topic names, patterns over them, and what can be said of a topic when it is defined. */

import { BusError } from "./errors.js";
import { checkOptionNames, namesOf } from "./known-options.js";

const NAME = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/;
const PATTERN = /^(\*\*|\*|[a-z0-9-]+)(\.(\*\*|\*|[a-z0-9-]+))*$/;
const MAX_NAME_BYTES = 200;
/** What prefixes and suffixes of derived topics may add to that. */
const MAX_AFFIX_BYTES = 40;

const DEAD_LETTER_PREFIX = "dlq.";
const SNAPSHOT_SUFFIX = ".snapshot";

/** Header of a redriven event: only this group gets it, for all others it counts as settled. */
export const REDRIVE_GROUP_HEADER = "x-redrive-group";

/** What a topic is, as the store keeps it. */
export interface TopicConfig {
  readonly name: string;
  /** Fixed for the life of the topic. */
  readonly partitions: number;
  readonly retentionMs?: number;
  readonly retentionBytes?: number;
  /** Keep the newest event of every key; older ones may go. Counts on an index by key: see `keyed`. */
  readonly compaction?: boolean;
  readonly tombstoneRetentionMs?: number;
  /**
   * Keep an index by key (implied by `compaction`). Without one, look-ups by key are right, too, but walk through the log.
   * On MongoDB a topic has the index only if its first definition asks for it.
   */
  readonly keyed?: boolean;
  /** Fixed for the life of the topic on stores that mind it. */
  readonly layout?: TopicLayout;
}

/**
 * How a store that keeps documents (MongoDB) keeps the events of a topic: each as a document of its own, which can be
 * queried by hand, or those of one append together in one document, which is written several times as fast. All else is
 * the same. Other stores take it and do not mind.
 */
export type TopicLayout = "documents" | "batches";

/** Whether a topic is to have an index by key. */
export function asksForKeys({ keyed, compaction }: TopicConfig): boolean {
  return keyed === true || compaction === true;
}

/**
 * A validator of the Zod kind; anything with this method will do. `Read` is what it makes of a payload, `T` what it takes
 * and what is stored: with defaults and transforms they differ.
 */
export interface PayloadSchema<Read, T = Read> {
  safeParse(
    value: unknown,
  ): { success: true; data: Read } | { success: false; error: { issues: readonly SchemaIssue[] } };
  /** Where a validator says what it takes (Standard Schema, as Zod has it): for types alone. */
  readonly "~standard"?: { readonly types?: { readonly input: T } | undefined };
}

/** What a validator finds wrong with a payload, and where. */
export interface SchemaIssue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** What can be said of a topic when it is defined. */
export interface TopicOptions<T, Read = T> {
  /** Fixed for the life of the topic. Default 1, on MongoDB 8. */
  readonly partitions?: number;
  /** Events older than that may go, where retention runs. */
  readonly retentionMs?: number;
  /** The same as `retentionMs`, in days. */
  readonly retentionDays?: number;
  /** Beyond that, over all partitions, the oldest events may go, where retention runs. */
  readonly retentionBytes?: number;
  /** Keep the newest event of every key; older ones may go. Implies `keyed`. */
  readonly compaction?: boolean;
  /** How long a compacted topic keeps the `null` that deletes a key, after what it deletes is gone. Default: a day. */
  readonly tombstoneRetentionMs?: number;
  /** Keep an index by key, for `latestByKey`, histories and time travel. On MongoDB the first definition decides. */
  readonly keyed?: boolean;
  /** Default: "documents". */
  readonly layout?: TopicLayout;
  /** Checked at publish, and the source of the payload's type: what it takes, for that is what is stored. */
  readonly schema?: PayloadSchema<Read, T>;
  /** The key of a payload, where the publisher gives none. A method, so that any definition is a TopicDefinition. */
  key?(payload: Read): string | undefined;
}

const OPTIONS = namesOf<TopicOptions<unknown>>({
  partitions: true,
  retentionMs: true,
  retentionDays: true,
  retentionBytes: true,
  compaction: true,
  tombstoneRetentionMs: true,
  keyed: true,
  layout: true,
  schema: true,
  key: true,
});

/**
 * `T` is the payload as it is published and stored, `Read` as `subscribeNormalized` hands it over. `Name` is the name itself where
 * the compiler knows it: by it, events of several topics are told apart.
 */
export interface TopicDefinition<T = unknown, Read = unknown, Name extends string = string>
  extends TopicOptions<T, Read> {
  readonly name: Name;
}

/** A topic by name, or by definition, which carries its payload's type. */
export type TopicRef<T = unknown> = string | TopicDefinition<T>;

/**
 * Names a topic and what is known of it, typed by its schema. Where it is compacted, `null` is a payload, too: a tombstone.
 *
 * @example
 * const Heartbeat = defineTopic("heartbeat.received", { schema: z.object({ pid: z.number() }), partitions: 4 });
 * await bus.publish(Heartbeat, { pid: 42 });
 */
export function defineTopic<Read = unknown, T = Read, Name extends string = string>(
  name: Name,
  options: TopicOptions<T, Read> & { readonly compaction: true },
): TopicDefinition<T | null, Read | null, Name>;
export function defineTopic<Read = unknown, T = Read, Name extends string = string>(
  name: Name,
  options?: TopicOptions<T, Read>,
): TopicDefinition<T, Read, Name>;
export function defineTopic<T>(name: string, options: TopicOptions<T> = {}): TopicDefinition<T> {
  checkTopicName(name);
  checkOptionNames(`${name}: a topic`, options, OPTIONS);
  checkFunctions(name, options);
  return Object.freeze({ ...options, name });
}

function checkFunctions(name: string, { schema, key }: TopicOptions<unknown>): void {
  if (schema !== undefined && typeof schema?.safeParse !== "function")
    throw new BusError(
      "INVALID_OPTION",
      `${name}: schema must be a Zod schema, or have safeParse() as one has; a JSON Schema is registered: new SchemaRegistry().register({ topic, version, schema })`,
    );
  if (key !== undefined && typeof key !== "function")
    throw new BusError("INVALID_OPTION", `${name}: key must be a function: (payload) => payload.id`);
}

/** Its name, to be checked: whatever was handed in. */
export function topicName(topic: TopicRef): string {
  return typeof topic === "string" ? topic : ((topic as TopicDefinition | null | undefined)?.name as string);
}

/** Throws INVALID_TOPIC unless `name` is a topic name. */
export function checkTopicName(name: unknown): asserts name is string {
  if (typeof name !== "string" || isTooLong(name) || !NAME.test(name)) {
    throw new BusError(
      "INVALID_TOPIC",
      `${quote(name)} is not a topic name: use lower-case letters, digits and "-" in segments joined by ".", ${MAX_NAME_BYTES} bytes at most`,
    );
  }
}

function isTooLong(name: string): boolean {
  return name.length > MAX_NAME_BYTES + MAX_AFFIX_BYTES || baseTopic(name).length > MAX_NAME_BYTES;
}

/** The topic that `dlq.x` and `x.snapshot` belong to; rights on it are rights on them. */
export function baseTopic(name: string): string {
  let base = name;
  while (base.startsWith(DEAD_LETTER_PREFIX)) base = base.slice(DEAD_LETTER_PREFIX.length);
  return base.endsWith(SNAPSHOT_SUFFIX) ? base.slice(0, -SNAPSHOT_SUFFIX.length) : base;
}

export function deadLetterTopic(topic: string): string {
  return DEAD_LETTER_PREFIX + topic;
}

export function isDeadLetterTopic(topic: string): boolean {
  return topic.startsWith(DEAD_LETTER_PREFIX);
}

export function snapshotTopic(topic: string): string {
  return topic + SNAPSHOT_SUFFIX;
}

export function isSnapshotTopic(topic: string): boolean {
  return topic.endsWith(SNAPSHOT_SUFFIX);
}

export function isPattern(text: string): boolean {
  return text.includes("*");
}

/** Throws INVALID_TOPIC unless `pattern` is made of name segments, `*` and `**`. */
export function checkTopicPattern(pattern: string): void {
  if (!PATTERN.test(pattern) || pattern.length > MAX_NAME_BYTES) {
    throw new BusError(
      "INVALID_TOPIC",
      `${quote(pattern)} is not a topic pattern: "*" stands for one segment, "**" for any number`,
    );
  }
}

/** Whether `topic` fits `pattern`: `*` is one segment, `**` any number of them, none included. */
export function matchesTopic(pattern: string, topic: string): boolean {
  const wanted = pattern.split(".");
  const given = topic.split(".");
  // Greedy with one point of return: the last `**` seen. Linear in practice, never exponential.
  let w = 0;
  let g = 0;
  let returnW = -1;
  let returnG = 0;
  while (g < given.length) {
    if (wanted[w] === "**") {
      returnW = w++;
      returnG = g;
    } else if (w < wanted.length && (wanted[w] === "*" || wanted[w] === given[g])) {
      w++;
      g++;
    } else if (returnW >= 0) {
      w = returnW + 1;
      g = ++returnG;
    } else {
      return false;
    }
  }
  while (wanted[w] === "**") w++;
  return w === wanted.length;
}

function quote(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value !== "string") return typeof value === "object" ? "an object" : `a ${typeof value}`;
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 59)}…` : value);
}
