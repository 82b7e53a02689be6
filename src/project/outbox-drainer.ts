/**
 * Outbox drainer: publishes what business transactions left in an outbox, under the ids they chose (P10). Any number
 * of drainers may run; claims with tokens keep them apart, and the outbox hands out each key in order.
 *
 * An entry that fails is tried again with backoff, and after `maxAttempts` is dead until a person requeues it. A crash
 * between publish and mark publishes again under the same id, which adds nothing (P3).
 */
import { BusError, describeThrown } from "../model/errors.js";
import type { PublishItem } from "../model/event-bus.js";
import { backoffMs, DEFAULT_RETRY, type RetryPolicy } from "../model/retry.js";
import type { Handle } from "../model/task.js";
import type { OutboxClaim, OutboxStore } from "../ports/outbox.js";
import type { Host } from "./host.js";
import { roundsTask } from "./running-task.js";

export interface OutboxDrainerOptions {
  readonly name?: string;
  /** Entries claimed at once. Default 200. */
  readonly batchSize?: number;
  /** How often to look when nothing wakes it. Default 250, or 1,000 where the outbox can tell. */
  readonly everyMs?: number;
  /** How long a claim is held. Default 30,000. */
  readonly leaseMs?: number;
  /** Failures after which an entry is dead. Default 10. */
  readonly maxAttempts?: number;
  readonly retry?: Partial<RetryPolicy>;
  /** Sent entries are removed after this long. Default one day. */
  readonly keepSentMs?: number;
}

export interface OutboxDrainerStats {
  readonly [name: string]: number;
  readonly sent: number;
  readonly failed: number;
  readonly dead: number;
  /** Claims that were lost to another drainer before they were settled. */
  readonly lost: number;
  readonly purged: number;
}

type DrainerHost = Pick<Host, "publish" | "publishMany" | "clock" | "tasks">;

const PURGE_EVERY_MS = 60_000;
const NONE: ReadonlySet<number> = new Set();

/**
 * @example
 * const drainer = runOutboxDrainer(outbox, bus);
 * // …
 * await drainer.stop();
 */
export function runOutboxDrainer(
  outbox: OutboxStore,
  bus: DrainerHost,
  options: OutboxDrainerOptions = {},
): Handle<OutboxDrainerStats> {
  const drainer = new Drainer(outbox, bus, options);
  const everyMs = options.everyMs ?? (outbox.watch === undefined ? 250 : 1_000);
  const name = options.name ?? "outbox";
  const { clock, tasks } = bus;
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
  readonly #outbox: OutboxStore;
  readonly #bus: DrainerHost;
  readonly #options: OutboxDrainerOptions;
  readonly #retry: RetryPolicy;
  readonly #owner: string;
  /** Keys of which an entry failed in this round. */
  readonly #stuck = new Set<string>();
  #purgedMs = Number.NEGATIVE_INFINITY;

  constructor(outbox: OutboxStore, bus: DrainerHost, options: OutboxDrainerOptions) {
    this.#outbox = outbox;
    this.#bus = bus;
    this.#options = options;
    this.#retry = { ...DEFAULT_RETRY, ...options.retry };
    this.#owner = bus.clock.newId();
  }

  /** Publishes one batch; true if there may be more. */
  async round(signal: AbortSignal): Promise<boolean> {
    const { batchSize = 200, leaseMs = 30_000 } = this.#options;
    const nowMs = this.#bus.clock.now();
    await this.#outbox.requeueExpired(nowMs);
    await this.#purge(nowMs);
    const claims = await this.#outbox.claimBatch(batchSize, { owner: this.#owner, leaseMs, nowMs });
    this.#stuck.clear();
    for (const [topic, ofTopic] of groupBy(claims, (claim) => claim.topic)) {
      // A key has one order, whatever the topics of its entries.
      const stuck = ofTopic.filter((claim) => this.#isStuck(claim));
      const free = ofTopic.filter((claim) => !this.#isStuck(claim));
      await Promise.all(stuck.map((claim) => this.#giveBack(claim)));
      if (free.length > 0) await this.#publish(topic, free);
    }
    return claims.length === batchSize && !signal.aborted;
  }

  /** Together if they let themselves be published together; the rest key by key, so that a bad entry stops only its key. */
  async #publish(topic: string, claims: readonly OutboxClaim[]): Promise<void> {
    let failed: ReadonlySet<number> = NONE;
    try {
      await this.#bus.publishMany(topic, claims.map(toItem));
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
    const held = await this.#outbox.markSent(claim.id, claim.token, { nowMs: this.#bus.clock.now() });
    if (held) this.stats.sent++;
    else this.stats.lost++;
  }

  async #failed(claim: OutboxClaim, error: unknown): Promise<void> {
    const { clock } = this.#bus;
    const failures = claim.failures + 1;
    const hopeless = BusError.is(error, "ID_CONFLICT") || failures >= (this.#options.maxAttempts ?? 10);
    const held = await this.#outbox.markError(claim.id, claim.token, {
      error: describeThrown(error),
      retryAtMs: clock.now() + backoffMs(this.#retry, failures, clock.random()),
      ...(hopeless && { dead: true }),
    });
    if (!held) this.stats.lost++;
    else if (hopeless) this.stats.dead++;
    else this.stats.failed++;
  }

  /** It was not tried: the outbox hands it out again once the one before it is sent. */
  async #giveBack(claim: OutboxClaim): Promise<void> {
    const o = { error: "it waits for an earlier entry of its key", retryAtMs: 0, counts: false };
    if (!(await this.#outbox.markError(claim.id, claim.token, o))) this.stats.lost++;
  }

  async #purge(nowMs: number): Promise<void> {
    if (nowMs - this.#purgedMs < PURGE_EVERY_MS) return;
    this.#purgedMs = nowMs;
    this.stats.purged += await this.#outbox.purge(nowMs - (this.#options.keepSentMs ?? 86_400_000));
  }
}

function toItem(claim: OutboxClaim): PublishItem {
  const { topic: _topic, token: _token, failures: _failures, ...item } = claim;
  return item;
}

/** Which of a publishMany were not published; null if it was refused as a whole, before anything was sent. */
function failedIndexes(error: unknown): ReadonlySet<number> | null {
  const failed = BusError.is(error) ? error.details?.["failed"] : undefined;
  if (!Array.isArray(failed)) return null;
  return new Set((failed as { index: number }[]).map(({ index }) => index));
}

/** Entries without a key are chains of their own. */
function groupByKey(claims: readonly OutboxClaim[]): Map<string, OutboxClaim[]> {
  return groupBy(claims, (claim) => (claim.key === undefined ? `id ${claim.id}` : `key ${claim.key}`));
}

function groupBy(
  claims: readonly OutboxClaim[],
  nameOf: (claim: OutboxClaim) => string,
): Map<string, OutboxClaim[]> {
  const groups = new Map<string, OutboxClaim[]>();
  for (const claim of claims) {
    const name = nameOf(claim);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [claim]);
    else group.push(claim);
  }
  return groups;
}
