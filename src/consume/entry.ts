/**
 * One event that a group has taken in, from then on until the floor has passed it. Nearly all are handed out once and handled:
 * what only the others need is made when it is first told, and what events that are handed out together have in common they
 * share. Each delivery leaves an entry behind, so its size is what delivery costs the collector and the processor's caches.
 */
import type { Seq, StoredEvent } from "../model/event.js";
import type { Redriven } from "../model/redrive.js";
import { DEFAULT_RETRY, type RetryPolicy } from "../model/retry.js";
import type { Attempt } from "../ports/groups.js";
import type { Lane } from "./lane-set.js";

export type Standing = "waiting" | "ready" | "delayed" | "in-flight" | "burying" | "settled";

/** How a subscriber wants its events treated. */
export interface HandlingPolicy {
  readonly maxAttempts: number;
  readonly ackTimeoutMs: number;
  readonly retry: RetryPolicy;
  /** False: never give an event up, retry it for ever. */
  readonly deadLetter: boolean;
}

/** What events that were handed out together have in common. */
export class Lease {
  readonly policy: HandlingPolicy;
  /** Events of the batch that they are in: what goes wrong with several may be another's fault. */
  readonly batchOf: number;
  readonly deadlineMs: number;

  constructor(policy: HandlingPolicy, batchOf: number, deadlineMs: number) {
    this.policy = policy;
    this.batchOf = batchOf;
    this.deadlineMs = deadlineMs;
  }
}

/** The dead letter that an event was, under a policy that holds keys. `foreign`: another group's. */
export type WasDeadLetter = Redriven & { readonly foreign: boolean };

/** What is to be told of few entries. */
class Story {
  failures = 0;
  error: string | undefined = undefined;
  /** What the shell knows of its last failure; never looked at here, let go once settled. */
  detail: unknown = undefined;
  retryAtMs = 0;
  /** How long that was to wait for. */
  waitMs = 0;
  /** Events of a batch that it may be in, after one that failed as a whole: half as many each time. 0: any number. */
  maxBatch = 0;
  redriven: WasDeadLetter | null = null;
}

const NO_STORY: Readonly<Story> = new Story();

/** What is left of an event that was settled before one with a lower seq. */
interface Remains {
  readonly id: string;
  readonly ts: number;
}

export class Entry {
  readonly seq: Seq;
  /** Let go once settled. */
  event: StoredEvent | null;
  standing: Standing = "waiting";
  delivered: number;
  /** Size as it was counted when the event was taken in. */
  readonly bytes: number;
  /** Of the last time it was handed out. */
  lease: Lease | null = null;
  /** Whoever holds it now, as the shell knows; never looked at here, let go once settled. */
  holder: unknown = null;
  lane: Lane | null = null;
  /** Those behind it in its lane need not wait for it any more. */
  passed = false;
  #remains: Remains | null = null;
  #story: Story | null = null;

  constructor(event: StoredEvent, delivered: number) {
    this.seq = event.seq;
    this.event = event;
    this.delivered = delivered;
    this.bytes = event.size;
  }

  /** What an earlier owner told of it, whose clock may have been hours ahead. */
  recall({ failures, error, retryAtMs = 0, waitMs = DEFAULT_RETRY.maxMs }: Attempt, nowMs: number): void {
    const story = this.told;
    story.failures = failures;
    story.error = error;
    story.retryAtMs = Math.min(retryAtMs, nowMs + waitMs);
    story.waitMs = waitMs;
  }

  /** To be written to. */
  get told(): Story {
    this.#story ??= new Story();
    return this.#story;
  }

  /** To be read only. */
  get story(): Readonly<Story> {
    return this.#story ?? NO_STORY;
  }

  get failures(): number {
    return this.#story === null ? 0 : this.#story.failures;
  }

  get retryAtMs(): number {
    return this.#story === null ? 0 : this.#story.retryAtMs;
  }

  get maxBatch(): number {
    return this.#story === null ? 0 : this.#story.maxBatch;
  }

  get redriven(): WasDeadLetter | null {
    return this.#story === null ? null : this.#story.redriven;
  }

  get policy(): HandlingPolicy | null {
    return this.lease === null ? null : this.lease.policy;
  }

  /** Of the attempt that is under way. */
  get deadlineMs(): number {
    return this.lease === null ? Number.POSITIVE_INFINITY : this.lease.deadlineMs;
  }

  /** Its deadline alone, not that of those it was handed out with. */
  leaseUntil(deadlineMs: number): void {
    if (this.lease !== null) this.lease = new Lease(this.lease.policy, this.lease.batchOf, deadlineMs);
  }

  /** Its event as whoever the floor has passed is remembered. */
  get last(): Remains | null {
    return this.event ?? this.#remains;
  }

  /** It is settled before one with a lower seq: its event is of no use any more, nor what its last failure was. */
  letGo(): void {
    if (this.event !== null) this.#remains = { id: this.event.id, ts: this.event.ts };
    this.event = null;
    if (this.#story !== null) this.#story.detail = undefined;
  }
}
