/**
 * Transactional projector: a batch of events, the documents it changes and the cursor that accounts for it go into one
 * commit (P9). Whatever happens, each event takes effect exactly once: a commit that is sent twice finds the cursor
 * moved, and one under an older epoch finds it fenced (P7).
 */
import { pause } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import { backoffMs, DEFAULT_RETRY } from "../model/retry.js";
import type { Handle } from "../model/task.js";
import { type TopicRef, topicName } from "../model/topic.js";
import type { CursorWrite } from "../ports/groups.js";
import type { Host, SettlingContext } from "./host.js";
import { subscribedTask } from "./running-task.js";
import { GatheredWrites, type Transaction } from "./transaction.js";

export interface TransactionalOptions<T = unknown> {
  readonly topic: TopicRef<T>;
  readonly group: string;
  readonly from?: "earliest" | "latest";
  readonly batchSize?: number;
  readonly maxAttempts?: number;
  /** May run again for the same events, with nothing of the earlier run left: write only through `tx`. */
  readonly handler: (events: readonly EventRecord<T>[], tx: Transaction) => unknown;
}

export interface TransactionalStats {
  readonly [name: string]: number;
  readonly events: number;
  readonly commits: number;
  readonly conflicts: number;
}

/**
 * @example
 * await startTransactionalProjector(bus, {
 *   topic: "orders", group: "totals", from: "earliest",
 *   handler: async (events, tx) => { for (const e of events) await tx.view("totals").inc(e.key!, { amount: 5 }); },
 * });
 */
export async function startTransactionalProjector<T>(
  host: Host,
  options: TransactionalOptions<T>,
): Promise<Handle<TransactionalStats>> {
  const { store, clock, tasks } = host;
  if (!store.capabilities.transactions) {
    throw new BusError(
      "UNSUPPORTED",
      `${store.name} has no transactions, which a transactional projector needs`,
    );
  }
  const stats = { events: 0, commits: 0, conflicts: 0 };
  const project = async (events: readonly EventRecord<T>[], context: unknown): Promise<void> => {
    const ctx = context as SettlingContext;
    for (let conflicts = 0; ; ) {
      const tx = new GatheredWrites(store.documents, (events.at(-1) as EventRecord).ts);
      await options.handler(events, tx);
      try {
        await ctx.settleBy((write) => commitOnce(host, tx, write, ctx.signal));
        stats.events += events.length;
        stats.commits++;
        return;
      } catch (error) {
        if (!BusError.is(error, "WRITE_CONFLICT") || ctx.signal.aborted) throw error;
        // Another partition changed a document that was read: run again on what is there now.
        stats.conflicts++;
        await pause(
          clock,
          backoffMs({ ...DEFAULT_RETRY, maxMs: 200 }, ++conflicts, clock.random()),
          ctx.signal,
        );
      }
    }
  };
  const batchSize = options.batchSize ?? 500;
  const stop = await host.subscribeBatch<T>(options.topic, options.group, project, {
    from: options.from ?? "earliest",
    ordering: "partition",
    batchSize,
    maxInFlight: batchSize * 64,
    ...(options.maxAttempts !== undefined && { maxAttempts: options.maxAttempts }),
  });
  const name = `transactional ${topicName(options.topic)} (${options.group})`;
  return subscribedTask(
    { kind: "transactional", name, clock, board: tasks, stats: () => ({ ...stats }) },
    stop,
  );
}

/** Sends the unit until its outcome is known. */
async function commitOnce(
  host: Host,
  tx: GatheredWrites,
  write: CursorWrite,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock } = host;
  for (let failures = 0; ; ) {
    try {
      await store.documents.transact({ writes: tx.writes, cursor: write });
      return;
    } catch (error) {
      if (BusError.is(error, "WRITE_CONFLICT") && (await tookEffect(host, write))) return;
      if (BusError.is(error, "WRITE_CONFLICT") || !BusError.from(error).retryable || signal.aborted)
        throw error;
      await pause(clock, backoffMs({ ...DEFAULT_RETRY, maxMs: 2_000 }, ++failures, clock.random()), signal);
    }
  }
}

/**
 * Why there was a conflict. The cursor moved as far as the unit would move it: the unit took effect, in an earlier try
 * whose answer was lost. It moved otherwise: this owner's picture is wrong, and it must claim anew. It did not move:
 * a document changed.
 */
async function tookEffect({ store, clock }: Host, write: CursorWrite): Promise<boolean> {
  const state = await store.groups.state(write.ref, { nowMs: clock.now() });
  const lease = state?.leases.find(({ partition }) => partition === write.ref.partition);
  if (lease?.epoch === write.epoch && lease.cursor.floor >= write.cursor.floor) return true;
  if (lease?.epoch === write.epoch && lease.cursor.floor === write.expectedFloor) return false;
  throw new BusError(
    "LEASE_LOST",
    `the cursor of ${write.ref.group} on ${write.ref.topic} was moved by somebody else`,
  );
}
