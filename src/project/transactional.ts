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
import type { Unit } from "../ports/documents.js";
import type { CursorWrite } from "../ports/groups.js";
import type { Host, SettlingContext } from "./host.js";
import { subscribedTask } from "./running-task.js";
import { TombstonePurge } from "./tombstone-purge.js";
import { GatheredWrites, type Transaction } from "./transaction.js";

export interface TransactionalOptions<T = unknown> {
  readonly topic: TopicRef<T>;
  readonly group: string;
  readonly from?: "earliest" | "latest";
  readonly batchSize?: number;
  readonly maxAttempts?: number;
  /** MongoDB only: the handler runs inside the transaction and finds its ClientSession in `tx.session`. */
  readonly session?: boolean;
  /** How long the views remember that a document was deleted. Default one day. */
  readonly keepTombstonesMs?: number;
  /** May run again for the same events, with nothing of the earlier run left: write only through `tx`. */
  readonly handler: (events: readonly EventRecord<T>[], tx: Transaction) => unknown;
}

export interface TransactionalStats {
  readonly [name: string]: number;
  readonly events: number;
  readonly commits: number;
  readonly conflicts: number;
  /** Tombstones removed from the views. */
  readonly purged: number;
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
  if (options.session && !store.capabilities.nativeTransactions)
    throw new BusError("UNSUPPORTED", `${store.name} has no session to share; only MongoDB has`);
  const projector = new TransactionalProjector(host, options);
  const batchSize = options.batchSize ?? 500;
  const stop = await host.subscribeBatch<T>(options.topic, options.group, projector.project, {
    from: options.from ?? "earliest",
    ordering: "partition",
    batchSize,
    maxInFlight: batchSize * 64,
    ...(options.maxAttempts !== undefined && { maxAttempts: options.maxAttempts }),
  });
  const name = `transactional ${topicName(options.topic)} (${options.group})`;
  return subscribedTask(
    { kind: "transactional", name, clock, board: tasks, stats: () => ({ ...projector.stats }) },
    stop,
  );
}

class TransactionalProjector<T> {
  readonly stats = { events: 0, commits: 0, conflicts: 0, purged: 0 };
  readonly #host: Host;
  readonly #options: TransactionalOptions<T>;
  readonly #purge: TombstonePurge;

  constructor(host: Host, options: TransactionalOptions<T>) {
    this.#host = host;
    this.#options = options;
    this.#purge = new TombstonePurge(host.store.documents, host.clock, options.keepTombstonesMs);
  }

  readonly project = async (events: readonly EventRecord<T>[], context: unknown): Promise<void> => {
    const ctx = context as SettlingContext;
    const { clock } = this.#host;
    for (let conflicts = 0; ; ) {
      try {
        await (this.#options.session ? this.#inside(events, ctx) : this.#gathered(events, ctx));
        this.stats.events += events.length;
        this.stats.commits++;
        this.stats.purged += await this.#purge.round();
        return;
      } catch (error) {
        if (!BusError.is(error, "WRITE_CONFLICT") || ctx.signal.aborted) throw error;
        // Another partition changed a document that was read: run again on what is there now.
        this.stats.conflicts++;
        const waitMs = backoffMs({ ...DEFAULT_RETRY, maxMs: 200 }, ++conflicts, clock.random());
        await pause(clock, waitMs, ctx.signal);
      }
    }
  };

  /** The handler first, then one commit of all it wrote. */
  async #gathered(events: readonly EventRecord<T>[], ctx: SettlingContext): Promise<void> {
    const tx = this.#begin(events);
    await this.#options.handler(events, tx);
    for (const { view } of tx.writes) this.#purge.watch(view);
    await ctx.settleBy((write) =>
      commitOnce(this.#host, { writes: tx.writes, cursor: write }, write, ctx.signal),
    );
  }

  /** The handler inside the transaction, so that it can use its session. */
  async #inside(events: readonly EventRecord<T>[], ctx: SettlingContext): Promise<void> {
    let failed: { readonly thrown: unknown } | undefined;
    const within = async (session: unknown): Promise<Unit["writes"]> => {
      const tx = this.#begin(events, session);
      try {
        await this.#options.handler(events, tx);
      } catch (thrown) {
        // A fault of the engine ends the transaction, which begins anew; one of the handler's is its own.
        if (isEngineFault(thrown)) throw thrown;
        failed = { thrown };
        throw handlerFailed(thrown);
      }
      for (const { view } of tx.writes) this.#purge.watch(view);
      return tx.writes;
    };
    try {
      await ctx.settleBy((write) =>
        commitOnce(this.#host, { writes: [], cursor: write, within }, write, ctx.signal),
      );
    } catch (error) {
      throw failed === undefined ? error : failed.thrown;
    }
  }

  #begin(events: readonly EventRecord[], session?: unknown): GatheredWrites {
    return new GatheredWrites(this.#host.store.documents, (events.at(-1) as EventRecord).ts, session);
  }
}

/** Ends the transaction without the doubt that other errors leave: nothing has happened. */
function handlerFailed(cause: unknown): BusError {
  return new BusError("WRITE_CONFLICT", "the handler failed", { retryable: false, cause });
}

/** Such an error says by itself that the transaction may be begun anew. */
function isEngineFault(thrown: unknown): boolean {
  const labels = thrown as { hasErrorLabel?: (label: string) => boolean } | null;
  return typeof labels?.hasErrorLabel === "function" && labels.hasErrorLabel("TransientTransactionError");
}

/** Sends the unit until its outcome is known. */
async function commitOnce(host: Host, unit: Unit, write: CursorWrite, signal: AbortSignal): Promise<void> {
  const { store, clock } = host;
  for (let failures = 0; ; ) {
    try {
      await store.documents.transact(unit);
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
