/**
 * The outbox: events written in the caller's own transaction, published later by a drainer (P10). The verbs are the
 * same whether it lives in a store of ours or in the caller's database.
 *
 *   pending --claim--> claimed --sent--> sent --purge--> (gone)
 *      ^                  |--error--> pending (after a wait) | dead --requeue--> pending
 *      '----lease ran out-'
 *
 * Order per key, whatever the topic: an entry is never handed out while an earlier one with its key is unsent, whoever
 * holds that (a dead one blocks its key until it is requeued or discarded). Entries of one key may be claimed together,
 * in order. A claim is lost when it was taken back, not when its time is over: tokens decide, never clocks.
 *
 * Leases and waits are lengths of time. When they begin and end is told by the database's own clock where it has one (a
 * server's), else by the callers' (`nowMs`, the time of this machine unless told), which are one clock then. If that is set
 * back, what began later than now is over.
 */
export interface OutboxEntry {
  readonly id: string;
  readonly topic: string;
  readonly payload: unknown;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly ts?: number;
  readonly tags?: readonly string[];
  readonly caused_by?: readonly string[];
  readonly sid?: string;
}

/** An entry that whoever claimed it is to publish. */
export interface OutboxClaim extends OutboxEntry {
  /** Settles this claim and no other (P6). */
  readonly token: string;
  /** Failed tries so far. */
  readonly failures: number;
  /** What was said of the last one that failed. */
  readonly error?: string;
}

/** How many entries stand where. */
export interface OutboxStats {
  readonly pending: number;
  readonly claimed: number;
  readonly sent: number;
  readonly dead: number;
  /** When the oldest unsent entry was added. */
  readonly oldestMs: number | null;
}

/** Waiting, in the hands of a drainer, published, or given up. */
export type OutboxStatus = "pending" | "claimed" | "sent" | "dead";

/** An entry as it is listed. */
export interface OutboxRow extends OutboxEntry {
  readonly status: OutboxStatus;
  readonly failures: number;
  readonly error?: string;
  readonly addedMs: number;
}

/** Who claims entries, and for how long. */
export interface ClaimOptions {
  readonly owner: string;
  readonly leaseMs: number;
  /** The caller's clock; a database with a clock of its own uses that instead. */
  readonly nowMs: number;
}

/** Why an entry could not be published, and when it may be tried again. */
export interface OutboxFailure {
  /** One line of 500 characters is kept. */
  readonly error: string;
  /** How long it is not to be tried again. Default 0: at once. */
  readonly retryAfterMs?: number;
  /** The caller's clock, as for claims. */
  readonly nowMs?: number;
  readonly dead?: boolean;
  /** False: it was not tried, and is only given back; neither its failures nor its error change. */
  readonly counts?: boolean;
}

/** Events of business transactions on their way to the log, claimed by token (P6, P10). */
export interface OutboxStore {
  /**
   * Adds an entry; the same id again is harmless, with another topic, key or payload it is an ID_CONFLICT. What
   * is no entry (no id, no payload), or names an option that the driver does not know, is refused at once.
   */
  add(entry: OutboxEntry, o?: { nowMs?: number }): Promise<void>;
  /** Up to `count` entries in order of addition, held for `leaseMs` (30,000 unless told). */
  claimBatch(count: number, o?: Partial<ClaimOptions>): Promise<readonly OutboxClaim[]>;
  /** True if the claim still held; false (nothing changed) if it was lost. */
  markSent(id: string, token: string, o?: { nowMs?: number }): Promise<boolean>;
  /** Counts a failure; pending again after `retryAfterMs`, or dead. False if the claim was lost. */
  markError(id: string, token: string, o: string | OutboxFailure): Promise<boolean>;
  /** Entries whose claim ran out by now become pending again; returns how many. */
  requeueExpired(nowMs?: number): Promise<number>;
  /** Dead entries (these, or all) become pending with no failures; returns how many. */
  requeueDead(ids?: readonly string[]): Promise<number>;
  /** Removes dead entries for good; returns how many. */
  discardDead(ids: readonly string[]): Promise<number>;
  /**
   * Removes entries sent before `sentBeforeMs`; returns how many. By a database's own clock, those that were sent as long before
   * its now as that is before `nowMs`, the caller's clock.
   */
  purge(sentBeforeMs: number, o?: { nowMs?: number }): Promise<number>;
  stats(): Promise<OutboxStats>;
  /** In order of addition; 100 unless told. */
  list(o: { status: OutboxStatus; limit?: number }): Promise<readonly OutboxRow[]>;
  /** Calls `wake` soon after an entry was committed, where the database can tell. Returns how to stop. */
  watch?(wake: () => void): () => void;
}
