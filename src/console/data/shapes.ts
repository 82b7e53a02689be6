/** What the hub answers, as far as the console looks at it: events, topics, groups, dead letters, views. */
export type * from "./ops-shapes.js";

export interface EventRecord {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly seq: number;
  readonly ts: number;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload: unknown;
  readonly caused_by?: readonly string[];
  readonly tags?: readonly string[];
  readonly sid?: string;
}

export interface Items<T> {
  readonly items: readonly T[];
  readonly next?: string | number | null;
}

export interface PartitionHead {
  readonly partition: number;
  readonly head: number;
  readonly low: number;
  readonly events: number;
  readonly bytes: number;
}

export interface TopicConfig {
  readonly name: string;
  readonly partitions: number;
  readonly retentionMs?: number;
  readonly retentionBytes?: number;
  readonly compaction?: boolean;
  readonly keyed?: boolean;
}

export interface TopicRow extends TopicConfig {
  readonly events: number;
  readonly bytes: number;
}

export interface TopicDetail {
  readonly name: string;
  readonly config: TopicConfig;
  readonly events: number;
  readonly bytes: number;
  readonly partitions: readonly PartitionHead[];
  readonly groups: readonly {
    readonly group: string;
    readonly lag: number;
    readonly lagSeconds: number;
    readonly members: readonly string[];
    readonly resting?: true;
  }[];
}

export interface PartitionLag {
  readonly partition: number;
  readonly floor: number;
  readonly head: number;
  readonly lag: number;
  readonly lagSeconds: number;
  readonly inFlight: number;
  readonly owner: string | null;
  readonly epoch: number;
  /** What the store says of its next events, if these are damaged. */
  readonly damage?: string;
}

export interface GroupLag {
  readonly topic: string;
  readonly group: string;
  readonly lag: number;
  readonly lagSeconds: number;
  readonly drainSeconds?: number | null;
  readonly members: readonly string[];
  readonly partitions: readonly PartitionLag[];
  readonly paused?: { readonly by: string; readonly sinceMs: number };
  /** Kept for the way back of a rebuild: nobody runs it. */
  readonly resting?: true;
}

export interface GroupDetail {
  readonly group: string;
  readonly lag: number;
  readonly lagSeconds: number;
  readonly topics: readonly GroupLag[];
}

export interface Blocked {
  readonly partition: number;
  readonly seq: number;
  readonly id: string;
  readonly key?: string;
  readonly failures: number;
  readonly maxAttempts?: number;
  readonly error?: string;
  readonly retryAtMs?: number;
  readonly running: boolean;
  readonly behind: number;
}

export interface WhyReport extends GroupLag {
  readonly blocked: readonly Blocked[];
  readonly sentence: string;
}

export interface Why {
  readonly group: string;
  readonly sentence: string;
  readonly items: readonly WhyReport[];
}

export interface MovedGroup {
  readonly moved: boolean;
  readonly redelivered: number;
  readonly skipped: number;
  readonly events: number;
  readonly partitions: readonly {
    readonly partition: number;
    readonly from: number;
    readonly to: number;
    readonly redelivered: number;
    readonly skipped: number;
  }[];
}

export interface Verified {
  readonly ok: boolean;
  readonly partitions: readonly {
    readonly partition: number;
    readonly settled: number;
    readonly deadLettered: number;
    readonly removed: number;
    readonly inFlight: number;
    readonly pending: number;
    readonly holes: readonly { readonly from: number; readonly to: number; readonly why: string }[];
  }[];
}

export interface LetterSummary {
  readonly topic: string;
  readonly open: number;
  readonly redriven: number;
  readonly discarded: number;
  readonly byErrorClass: Readonly<Record<string, number>>;
  readonly errorExamples: Readonly<Record<string, string>>;
  readonly byGroup: Readonly<Record<string, number>>;
  readonly byKey: Readonly<Record<string, number>>;
}

export interface Letter {
  readonly id: string;
  readonly key?: string;
  readonly ts: number;
  readonly status: "open" | "redriven" | "discarded";
  readonly errorClass: string;
  readonly outcome?: string;
  readonly attempts: number;
  readonly origin: {
    readonly topic: string;
    readonly partition: number;
    readonly seq: number;
    readonly id: string;
    readonly group: string;
  };
  readonly error: {
    readonly message: string;
    readonly name?: string;
    readonly code?: string;
    readonly stack?: string;
  };
  readonly event: EventRecord;
}

export interface ViewInfo {
  readonly view: string;
  readonly documents: number;
  readonly topic?: string | null;
  readonly indexes: readonly { readonly keys: Readonly<Record<string, 1 | -1>>; readonly unique?: boolean }[];
}

export interface ViewRecord {
  readonly _key: string;
  readonly _v: number;
  readonly _ts: number;
  readonly [field: string]: unknown;
}

export interface SchemaEntry {
  readonly topic: string;
  readonly version: number;
  readonly compat: string;
  readonly document: { readonly schema?: unknown; readonly waive?: string };
  readonly createdMs: number;
}

export interface TaskReport {
  readonly name: string;
  readonly kind: string;
  readonly state: "starting" | "running" | "retrying" | "stopped" | "failed";
  readonly startedMs: number;
  readonly restarts: number;
  readonly lastError?: string;
  readonly stats: Readonly<Record<string, unknown>>;
}

export interface AuditEntry {
  readonly number: number;
  readonly atMs: number;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly details?: unknown;
}

export interface Overview {
  readonly name: string;
  readonly store: string;
  readonly startedMs: number;
  readonly nowMs: number;
  readonly uptimeSeconds: number;
  readonly connections: number;
  readonly counters: Readonly<
    Record<"published" | "delivered" | "acked" | "nacked" | "deadLettered", number>
  >;
  readonly topics: number;
  readonly events: number;
  readonly bytes: number;
  readonly groups: number;
  readonly lag: number;
  readonly lagSeconds: number;
  readonly lagging: readonly {
    readonly topic: string;
    readonly group: string;
    readonly lag: number;
    readonly lagSeconds: number;
    readonly members: readonly string[];
  }[];
  readonly deadLetters: { readonly open: number; readonly topics: Readonly<Record<string, number>> };
  readonly tasks: readonly TaskReport[];
}
