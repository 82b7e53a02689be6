/** What the members of a store agree on: topics, schemas, resume points, and who did what. */
import type { Seq } from "../model/event.js";
import type { JsonValue } from "../model/json.js";
import type { TopicConfig } from "../model/topic.js";

/** A version of a topic's schema. */
export interface SchemaEntry {
  readonly topic: string;
  readonly version: number;
  readonly compat: string;
  /** The schema as JSON Schema, and whatever else its owner needs. */
  readonly document: JsonValue;
  readonly createdMs: number;
}

/** A named value that is written only by whoever knows its revision. */
export interface Token {
  readonly value: JsonValue;
  /** Grows by one with each write; 0 stands for "absent". */
  readonly revision: number;
}

/** Who did what to what, and when. */
export interface AuditEntry {
  /** Assigned by the store, growing. */
  readonly number: number;
  readonly atMs: number;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly details?: JsonValue;
}

/** Topics, schemas, tokens and the audit; what can be raced for is compare-and-set. */
export interface Registry {
  /**
   * Creates the topic, or puts this in place of what may change (all but `partitions`: TOPIC_CONFLICT). Of two that
   * create it at once, one wins and the other gets the winner's partitions or TOPIC_CONFLICT. Returns what is stored.
   * With `ifAbsent`, a topic that exists stays as it is, whatever its partitions. One that was removed is there again: with
   * `ifAbsent` as this says, but with the partitions it had; without, only with these.
   */
  defineTopic(config: TopicConfig, o?: { ifAbsent?: boolean }): Promise<TopicConfig>;
  topic(name: string): Promise<TopicConfig | null>;
  /** Sorted by name. */
  topics(): Promise<readonly TopicConfig[]>;
  /**
   * Takes away a topic that stands at these heads (index = partition), and its schemas. It is in none of the answers above until it
   * is defined again, or something is appended behind these heads: then it is there as it was. The log goes on as if nothing had
   * happened: seqs are never given again (P2), and what is left of its events is for others to trim. False, and no change, if it
   * stands elsewhere by now; NOT_FOUND if it is not there.
   */
  removeTopic(name: string, heads: readonly Seq[]): Promise<boolean>;

  /** Adds a higher version if the newest is still `expectedLatest` (0: none); else SCHEMA_CONFLICT and no change. */
  putSchema(entry: SchemaEntry, o: { expectedLatest: number }): Promise<void>;
  /** Ascending by version; of every topic, sorted, if none is named. */
  schemas(topic?: string): Promise<readonly SchemaEntry[]>;

  token(name: string): Promise<Token | null>;
  /**
   * Writes if the revision is still `expected` (0: absent); else WRITE_CONFLICT. Null removes. Returns the new revision,
   * which is 0 once removed.
   */
  putToken(name: string, value: JsonValue | null, o: { expected: number }): Promise<number>;
  tokens(prefix: string): Promise<ReadonlyMap<string, Token>>;

  audit(entry: Omit<AuditEntry, "number">): Promise<void>;
  /** Newest first. */
  audits(o: { limit: number; before?: number }): Promise<readonly AuditEntry[]>;
  /**
   * Forgets entries of before that time: some of the oldest in a call, never the newest of all, by which the next is numbered.
   * Returns how many; 0 if there are none to forget.
   */
  trimAudits(o: { beforeMs: number }): Promise<number>;
}
