/** What the hub answers to those who run it: figures, jobs, hubs, the outbox, verdicts, traces. */
import type { EventRecord } from "./shapes.js";

/** Rates of one second of the whole hub. */
export interface Sample {
  readonly atMs: number;
  readonly published: number;
  readonly delivered: number;
  readonly acked: number;
  readonly nacked: number;
  readonly deadLettered: number;
  readonly handlerP99Ms: number | null;
}

export interface GroupStats {
  readonly topic: string;
  readonly group: string;
  readonly lag: number;
  readonly lagSeconds: number;
  readonly members: number;
  readonly paused?: { readonly by: string; readonly sinceMs: number };
  /** Kept for the way back of a rebuild: nobody runs it. */
  readonly resting?: true;
  readonly inFlight?: number;
  readonly deliveredPerSecond?: number;
  readonly ackedPerSecond?: number;
  readonly nackedPerSecond?: number;
  readonly handlerP50Ms?: number | null;
  readonly handlerP99Ms?: number | null;
}

export interface Stats {
  readonly atMs: number;
  readonly topics: readonly {
    readonly topic: string;
    readonly published: number;
    readonly publishedPerSecond: number;
  }[];
  readonly groups: readonly GroupStats[];
  readonly totals: Sample;
  readonly connections: number;
  readonly lag: number;
  readonly lagSeconds: number;
  readonly deadLetters: { readonly open: number; readonly topics: Readonly<Record<string, number>> };
  readonly past?: readonly Sample[];
}

export interface Job {
  readonly id: string;
  readonly kind: string;
  readonly target: string;
  readonly actor: string;
  readonly state: "running" | "done" | "failed" | "stopped" | "lost";
  readonly startedMs: number;
  readonly endedMs?: number;
  readonly progress: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly detail: string };
  readonly stopping?: true;
}

export interface Hubs {
  readonly self: string;
  readonly items: readonly {
    readonly id: string;
    readonly name: string;
    readonly url: string;
    readonly host: string;
    readonly pid: number;
    readonly startedMs: number;
    readonly seenMs: number;
    readonly connections: number;
  }[];
  readonly members: readonly { readonly member: string; readonly host: string; readonly pid: number }[];
}

export interface Outbox {
  readonly pending: number;
  readonly claimed: number;
  readonly sent: number;
  readonly dead: number;
  readonly oldestMs: number | null;
}

export interface CompatReport {
  readonly mode: string;
  readonly verdict: "compatible" | "incompatible" | "unknown";
  readonly findings: readonly {
    readonly verdict: string;
    readonly path: string;
    readonly rule: string;
    readonly side: string;
    readonly counterExample?: unknown;
  }[];
}

export interface TopicSchemas {
  readonly topic: string;
  readonly latest: number | null;
  readonly compat: string | null;
  readonly versions: readonly {
    readonly version: number;
    readonly compat: string;
    readonly createdMs: number;
    readonly schema: unknown;
    readonly waive?: string;
    readonly follows: CompatReport | null;
  }[];
}

export interface Trace {
  readonly root?: string;
  readonly events: readonly EventRecord[];
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  readonly missing: readonly string[];
  readonly scanned: number;
  readonly complete: boolean;
}
