/**
 * Outbox drainer: publishes what business transactions left in an outbox, under the ids they chose (P10). Any number
 * of drainers may run; claims with tokens keep them apart, and the outbox hands out each key in order.
 *
 * An entry that fails is tried again with backoff, and after `maxAttempts` is dead until a person requeues it; but not by an
 * outage, however long, which is no fault of its own. One that is refused for what it says is tried once more, after the longest
 * wait: a process with a newer schema may have come up by then. Refused for the same reason again, it is dead. A crash between publish and mark publishes again under the same id,
 * which adds nothing (P3).
 */
import { addToList } from "../model/add-to-list.js";
import { type Clock, systemClock } from "../model/clock.js";
import { BusError, describeThrown, type ErrorCode, inBrief } from "../model/errors.js";
import type { PublishItem, PublishOptions } from "../model/event-bus.js";
import { checkOptionNames, namesOf } from "../model/known-options.js";
import { backoffMs, DEFAULT_RETRY, type RetryPolicy } from "../model/retry.js";
import { type Handle, TaskBoard } from "../model/task.js";
import type { Trouble } from "../model/trouble.js";
import type { OutboxClaim, OutboxStore } from "../ports/outbox.js";
import { checkRange } from "./option-checks.js";
import { roundsTask } from "./running-task.js";

/** How much a drainer claims at once, how often it looks, and when it gives an entry up. */
export interface OutboxDrainerOptions {
  readonly name?: string;
  /** Entries claimed at once. Default 200. */
  readonly batchSize?: number;
  /** How often to look when nothing wakes it. Default 250, or 1,000 where the outbox can tell. */
  readonly everyMs?: number;
  /** How long a claim is held. Default 30,000. */
  readonly leaseMs?: number;
  /** Failures after which an entry is dead, unless trying again may well help; of one that is refused for what it says, once it is so for the same reason again. Default 10. */
  readonly maxAttempts?: number;
  readonly retry?: Partial<RetryPolicy>;
  /** Sent entries are removed after this long. Default one day. */
  readonly keepSentMs?: number;
}

const OPTIONS = namesOf<OutboxDrainerOptions>({
  name: true,
  batchSize: true,
  everyMs: true,
  leaseMs: true,
  maxAttempts: true,
  retry: true,
  keepSentMs: true,
});

/** What a drainer has done with the entries of an outbox. */
export interface OutboxDrainerStats {
  readonly [name: string]: number;
  readonly sent: number;
  readonly failed: number;
  readonly dead: number;
  /** Claims that were lost to another drainer before they were settled. */
  readonly lost: number;
  readonly purged: number;
}

/** A bus; or whatever else publishes, such as the client of a hub: then its drainer is on no bus's task board. */
export interface Publisher {
  publish(topic: string, payload: unknown, options: PublishOptions): Promise<unknown>;
  /** Used of a bus only: it lets none of a key pass one that it refused. Others may not. */
  publishMany?(topic: string, items: readonly PublishItem[]): Promise<unknown>;
  /** As `publishMany` of a bus; rejects, with nothing published, if it cannot keep that. */
  publishTogether?(topic: string, items: readonly PublishItem[]): Promise<unknown>;
  readonly clock?: Clock;
  readonly tasks?: TaskBoard;
  /** Told of entries that are refused or dead, where there is no task board. */
  readonly onTrouble?: (trouble: Trouble) => void;
}

const PURGE_EVERY_MS = 60_000;
const NONE: ReadonlySet<number> = new Set();

/** It is the entry that is refused: only another schema, or other limits, would let it pass. */
const REFUSED: ReadonlySet<ErrorCode> = new Set([
  "INVALID_TOPIC",
  "INVALID_OPTION",
  "INVALID_PAYLOAD",
  "PAYLOAD_TOO_LARGE",
  "SCHEMA_VIOLATION",
]);

/** What a drainer needs of an outbox: the first verbs. One that tells nothing back is taken at its word. */
export type DrainedOutbox = Pick<OutboxStore, "claimBatch" | "markSent" | "markError"> &
  Partial<Pick<OutboxStore, "requeueExpired" | "purge" | "watch">>;

/**
 * A number in place of options is `everyMs`.
 *
 * @example
 * const drainer = runOutboxDrainer(outbox, bus);
 * // …
 * await drainer.stop();
 */
export function runOutboxDrainer(
  outbox: DrainedOutbox,
  bus: Publisher,
  given: OutboxDrainerOptions | number = {},
): Handle<OutboxDrainerStats> {
  const options = typeof given === "number" ? { everyMs: given } : given;
  checkParts(outbox, bus, options);
  const drainer = new Drainer(outbox, bus, options);
  const everyMs = options.everyMs ?? (outbox.watch === undefined ? 250 : 1_000);
  const name = options.name ?? "outbox";
  const { clock = systemClock, tasks = new TaskBoard() } = bus;
  let unwatch: () => void = () => undefined;
  const handle = roundsTask(
    { kind: "outbox", name, clock, board: tasks, stats: () => ({ ...drainer.stats }) },
    { everyMs, round: (signal) => drainer.round(signal), close: () => unwatch() },
  );
  unwatch = outbox.watch?.(handle.wake) ?? unwatch;
  return handle;
}

class Drainer {
  readonly stats = { sent: 0, failed: 0, dead: 0, lost: 0, purged: 0 };
  readonly #outbox: DrainedOutbox;
  readonly #bus: Publisher;
  readonly #clock: Clock;
  readonly #options: OutboxDrainerOptions;
  readonly #retry: RetryPolicy;
  readonly #owner: string;
  /** Keys of which an entry failed in this round. */
  readonly #stuck = new Set<string>();
  /** On the steady clock. */
  #purgedMs = Number.NEGATIVE_INFINITY;

  constructor(outbox: DrainedOutbox, bus: Publisher, options: OutboxDrainerOptions) {
    this.#outbox = outbox;
    this.#bus = bus;
    this.#options = options;
    this.#retry = { ...DEFAULT_RETRY, ...options.retry };
    this.#clock = bus.clock ?? systemClock;
    this.#owner = this.#clock.newId();
  }

  /** Publishes one batch; true if there may be more. */
  async round(signal: AbortSignal): Promise<boolean> {
    const { batchSize = 200, leaseMs = 30_000 } = this.#options;
    const nowMs = this.#clock.now();
    await this.#outbox.requeueExpired?.(nowMs);
    await this.#purge(nowMs);
    const claims = await this.#outbox.claimBatch(batchSize, { owner: this.#owner, leaseMs, nowMs });
    this.#stuck.clear();
    for (const ofTopic of inKeyOrder(claims)) {
      const stuck = ofTopic.filter((claim) => this.#isStuck(claim));
      const free = ofTopic.filter((claim) => !this.#isStuck(claim));
      await Promise.all(stuck.map((claim) => this.#giveBack(claim)));
      const [first] = free;
      if (first !== undefined) await this.#publish(first.topic, free);
    }
    return claims.length === batchSize && !signal.aborted;
  }

  /**
   * Together if they let themselves be published together; the rest key by key, so that a bad entry stops only its key. One
   * whose id the log has with another content is found out last: those of its key that went with it have gone out.
   */
  async #publish(topic: string, claims: readonly OutboxClaim[]): Promise<void> {
    let failed: ReadonlySet<number> = NONE;
    try {
      if (this.#bus.tasks !== undefined && this.#bus.publishMany !== undefined)
        await this.#bus.publishMany(topic, claims.map(toItem));
      else if (this.#bus.publishTogether !== undefined && claims.length > 1)
        await this.#bus.publishTogether(topic, claims.map(toItem));
      else failed = new Set(claims.keys());
    } catch (error) {
      failed = failedIndexes(error) ?? new Set(claims.keys());
    }
    await Promise.all(claims.filter((_, i) => !failed.has(i)).map((claim) => this.#sent(claim)));
    const rest = claims.filter((_, i) => failed.has(i));
    await Promise.all([...groupByKey(rest).values()].map((chain) => this.#publishChain(chain)));
  }

  /** Entries of one key, one after the other; those behind a failure are given back, and wait for it. */
  async #publishChain(chain: readonly OutboxClaim[]): Promise<void> {
    for (const [i, claim] of chain.entries()) {
      try {
        const { payload, ...options } = toItem(claim);
        await this.#bus.publish(claim.topic, payload, options);
      } catch (error) {
        if (claim.key !== undefined) this.#stuck.add(claim.key);
        await this.#failed(claim, error);
        await Promise.all(chain.slice(i + 1).map((behind) => this.#giveBack(behind)));
        return;
      }
      await this.#sent(claim);
    }
  }

  #isStuck({ key }: OutboxClaim): boolean {
    return key !== undefined && this.#stuck.has(key);
  }

  async #sent(claim: OutboxClaim): Promise<void> {
    const held = await this.#outbox.markSent(claim.id, claim.token, { nowMs: this.#clock.now() });
    if (held === false) this.stats.lost++;
    else this.stats.sent++;
  }

  async #failed(claim: OutboxClaim, error: unknown): Promise<void> {
    const clock = this.#clock;
    const failures = claim.failures + 1;
    const said = describeThrown(error);
    const isRefused = BusError.is(error) && REFUSED.has(error.code);
    const isAgain = claim.failures > 0 && (claim.error ?? said) === said;
    const { maxAttempts = 10 } = this.#options;
    // Its failures may all have been an outage's.
    const isOver = isRefused ? isAgain || maxAttempts === 1 : failures >= maxAttempts;
    const { retryable } = BusError.from(error);
    const hopeless = (isOver && !retryable) || BusError.is(error, "ID_CONFLICT");
    const held = await this.#outbox.markError(claim.id, claim.token, {
      error: said,
      retryAfterMs: isRefused ? this.#retry.maxMs : backoffMs(this.#retry, failures, clock.random()),
      nowMs: clock.now(),
      ...(hopeless && { dead: true }),
    });
    if (held === false) this.stats.lost++;
    else if (hopeless) this.stats.dead++;
    else this.stats.failed++;
    const isNews = hopeless || (!isAgain && !retryable);
    if (held !== false && isNews) this.#tell(claim, error, hopeless);
  }

  /** Once when it is first refused, and once when it is dead: its key waits. Outages are told of by whoever publishes. */
  #tell({ id, topic, key }: OutboxClaim, thrown: unknown, isDead: boolean): void {
    const { code, message } = BusError.from(thrown);
    const waits = key === undefined ? "" : `; entries of its key ("${inBrief(key)}") wait`;
    const state = isDead ? "is dead" : `is refused: ${message}`;
    const error = new BusError(code, `entry ${id} of the outbox ${state}${waits}`, {
      cause: thrown,
      details: { id },
    });
    const trouble: Trouble = { error, topic, ...(isDead && { givenUp: true }) };
    if (this.#bus.tasks === undefined) this.#bus.onTrouble?.(trouble);
    else this.#bus.tasks.tell(trouble);
  }

  /** It was not tried: the outbox hands it out again once the one before it is sent. */
  async #giveBack(claim: OutboxClaim): Promise<void> {
    const o = { error: "it waits for an earlier entry of its key", counts: false };
    if ((await this.#outbox.markError(claim.id, claim.token, o)) === false) this.stats.lost++;
  }

  async #purge(nowMs: number): Promise<void> {
    const steadyMs = this.#clock.steady();
    if (steadyMs - this.#purgedMs < PURGE_EVERY_MS) return;
    this.#purgedMs = steadyMs;
    const { keepSentMs = 86_400_000 } = this.#options;
    this.stats.purged += (await this.#outbox.purge?.(nowMs - keepSentMs, { nowMs })) ?? 0;
  }
}

function toItem(claim: OutboxClaim): PublishItem {
  const { topic: _topic, token: _token, failures: _failures, error: _error, ...item } = claim;
  return item;
}

/** Which of a publishMany were not published; null if it was refused as a whole, before anything was sent. */
function failedIndexes(error: unknown): ReadonlySet<number> | null {
  const failed = BusError.is(error) ? error.details?.["failed"] : undefined;
  if (!Array.isArray(failed)) return null;
  return new Set((failed as { index: number }[]).map(({ index }) => index));
}

/**
 * Entries of one topic together, as long as that lets none of a key go before an earlier one: a key has one order,
 * whatever the topics of its entries.
 */
function inKeyOrder(claims: readonly OutboxClaim[]): OutboxClaim[][] {
  const all: OutboxClaim[][] = [];
  let wave = new Map<string, OutboxClaim[]>();
  let topicOf = new Map<string, string>();
  for (const claim of claims) {
    const { key, topic } = claim;
    if (key !== undefined && (topicOf.get(key) ?? topic) !== topic) {
      all.push(...wave.values());
      wave = new Map();
      topicOf = new Map();
    }
    if (key !== undefined) topicOf.set(key, topic);
    addToList(wave, topic, claim);
  }
  return [...all, ...wave.values()];
}

/** Entries without a key are chains of their own. */
function groupByKey(claims: readonly OutboxClaim[]): Map<string, OutboxClaim[]> {
  const groups = new Map<string, OutboxClaim[]>();
  for (const claim of claims) {
    const name = claim.key === undefined ? `id ${claim.id}` : `key ${claim.key}`;
    addToList(groups, name, claim);
  }
  return groups;
}

function checkParts(outbox: unknown, bus: unknown, options: OutboxDrainerOptions): void {
  const { claimBatch, markSent, markError } = (outbox ?? {}) as Partial<DrainedOutbox>;
  if ([claimBatch, markSent, markError].some((verb) => typeof verb !== "function"))
    throw new BusError(
      "INVALID_OPTION",
      "runOutboxDrainer needs an outbox: a MongoOutbox, a SqliteOutbox, bus.store.outbox",
    );
  if (typeof (bus as Partial<Publisher> | undefined)?.publish !== "function")
    throw new BusError("INVALID_OPTION", "runOutboxDrainer needs the bus it publishes on");
  checkOptionNames("runOutboxDrainer", options, OPTIONS);
  checkRange("batchSize", options.batchSize, 1, 10_000);
  checkRange("everyMs", options.everyMs, 1);
  checkRange("leaseMs", options.leaseMs, 1);
  checkRange("maxAttempts", options.maxAttempts, 1);
  checkRange("keepSentMs", options.keepSentMs, 0);
}
