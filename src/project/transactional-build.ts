/**
 * One build of a transactional projector's views: runs the handler on batches and commits what it wrote with the cursor.
 *
 *   batch 1: handler · commit
 *   batch 2:           handler · (waits for commit 1) · commit
 *
 * While one batch commits, the handler runs on the next. What the commit under way writes can be read only once it is
 * through; if it has to be run again, so has the one after it. So each batch sees what all before it did.
 */
import { pause } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";
import type { Stop } from "../model/event-bus.js";
import { backoffMs, DEFAULT_RETRY } from "../model/retry.js";
import { topicName } from "../model/topic.js";
import type { Unit } from "../ports/documents.js";
import type { CursorWrite } from "../ports/groups.js";
import type { Host, SettlingContext } from "./host.js";
import { BuildTables, keeperName } from "./kept-views.js";
import type { TombstonePurge } from "./tombstone-purge.js";
import { GatheredWrites } from "./transaction.js";
import type { TransactionalOptions } from "./transactional.js";
import { contextOf } from "./transactional-context.js";
import { suffixOf } from "./view-pointer.js";

const BATCH_SIZE = 500;
/** Batches taken at once, to be handled one after the other: the next one is at hand while one commits. */
const BATCHES_AT_ONCE = 8;
const ACK_TIMEOUT_MS = 30_000;

export interface BuildOptions<T> {
  readonly projector: TransactionalOptions<T>;
  /** The build's name; that of the projector's pointer if it is the first. */
  readonly build: string;
  /** Made beside the one in use: whatever has effects elsewhere must not happen again. */
  readonly replaying: boolean;
  readonly stats: { events: number; commits: number; conflicts: number };
  readonly purge?: TombstonePurge;
}

/** The group that feeds a build. */
export function buildGroup<T>({ topic, group }: TransactionalOptions<T>, build: string): string {
  return group + suffixOf(build, keeperName({ topic: topicName(topic), group }));
}

/** Projects the topic into the tables of one build. */
export function feedBuild<T>(host: Host, options: BuildOptions<T>): Promise<Stop> {
  const { projector, build, replaying } = options;
  const batchSize = projector.batchSize ?? BATCH_SIZE;
  const batches = projector.session ? 1 : BATCHES_AT_ONCE;
  const run = new TransactionalBuild(host, options, batchSize);
  return host.subscribeBatch<T>(projector.topic, buildGroup(projector, build), run.project, {
    from: replaying ? "earliest" : (projector.from ?? "earliest"),
    ordering: "partition",
    batchSize: batchSize * batches,
    maxInFlight: batchSize * 64,
    ackTimeoutMs: ACK_TIMEOUT_MS,
    ...(projector.maxAttempts !== undefined && { maxAttempts: projector.maxAttempts }),
  });
}

/** Events that are committed together. */
interface Batch<T> {
  readonly events: readonly EventRecord<T>[];
  readonly ctx: SettlingContext;
}

/** A commit under way. `done` tells whether the handler had to run again. */
interface Commit {
  readonly writes: GatheredWrites;
  readonly done: Promise<{ readonly again: boolean }>;
}

type Outcome = { readonly writes: GatheredWrites } | { readonly thrown: unknown };

class TransactionalBuild<T> {
  readonly #host: Host;
  readonly #options: BuildOptions<T>;
  readonly #batchSize: number;
  readonly #tables: BuildTables;

  constructor(host: Host, options: BuildOptions<T>, batchSize: number) {
    const { topic, group } = options.projector;
    const keeper = { topic: topicName(topic), group };
    this.#host = host;
    this.#options = options;
    this.#batchSize = batchSize;
    this.#tables = new BuildTables(host, keeper, suffixOf(options.build, keeperName(keeper)));
  }

  readonly project = async (events: readonly EventRecord<T>[], context: unknown): Promise<void> => {
    const batches = this.#cut(events, context as SettlingContext);
    let underWay: Commit | undefined;
    let renewedMs = this.#host.clock.steady();
    try {
      for (const [i, batch] of batches.entries()) {
        if (this.#host.clock.steady() - renewedMs > ACK_TIMEOUT_MS / 4) {
          // Those that had to wait for their turn have all their time again.
          for (const later of batches.slice(i)) later.ctx.extend(ACK_TIMEOUT_MS);
          renewedMs = this.#host.clock.steady();
        }
        if (this.#options.projector.session) await this.#commitInside(batch);
        else underWay = await this.#begin(batch, underWay);
        batch.ctx.prepare((i + 1) * this.#batchSize);
      }
      await underWay?.done;
    } catch (error) {
      // Whatever it ends with, nothing of it may go on behind the next delivery.
      await underWay?.done.catch(() => undefined);
      throw error;
    }
  };

  #cut(events: readonly EventRecord<T>[], ctx: SettlingContext): Batch<T>[] {
    const size = this.#batchSize;
    if (events.length <= size) return [{ events, ctx }];
    return Array.from({ length: Math.ceil(events.length / size) }, (_, i) => {
      const [from, to] = [i * size, Math.min((i + 1) * size, events.length)];
      return { events: events.slice(from, to), ctx: ctx.part(from, to) };
    });
  }

  /** Runs the handler beside the commit under way; then that one must be through. */
  async #begin(batch: Batch<T>, before: Commit | undefined): Promise<Commit> {
    let outcome = await this.#outcome(batch, before);
    if (before !== undefined && (await before.done).again) outcome = await this.#outcome(batch, undefined);
    if ("thrown" in outcome) throw outcome.thrown;
    const { writes } = outcome;
    const done = this.#commit(batch, writes);
    // Looked at when the next one is ready, or at the end.
    done.catch(() => undefined);
    return { writes, done };
  }

  async #outcome(batch: Batch<T>, after: Commit | undefined): Promise<Outcome> {
    try {
      return { writes: await this.#handle(batch, after) };
    } catch (thrown) {
      return { thrown };
    }
  }

  async #handle(batch: Batch<T>, after?: Commit, session?: unknown): Promise<GatheredWrites> {
    const { projector, replaying } = this.#options;
    const writes = new GatheredWrites(this.#host.store.documents, {
      tableOf: this.#tables.tableOf,
      ts: (batch.events.at(-1) as EventRecord).ts,
      ...(after !== undefined && { after }),
      ...(session !== undefined && { session }),
    });
    await projector.handler(batch.events, writes, contextOf(batch.ctx, replaying));
    await this.#tables.note(writes.written);
    return writes;
  }

  /** One commit of all that was written; after a conflict the handler runs again, on what is there now. */
  async #commit(batch: Batch<T>, first: GatheredWrites): Promise<{ again: boolean }> {
    for (let writes = first, conflicts = 0; ; ) {
      try {
        const units = await this.#units(writes);
        await batch.ctx.settleBy((cursor) => this.#send({ writes: units, cursor }, cursor, batch.ctx.signal));
        this.#count(batch, units);
        return { again: conflicts > 0 };
      } catch (error) {
        await this.#afterConflict(error, ++conflicts, batch);
        writes = await this.#handle(batch);
      }
    }
  }

  /** The handler inside the transaction, so that it can use its session. */
  async #commitInside(batch: Batch<T>): Promise<void> {
    for (let conflicts = 0; ; ) {
      try {
        await this.#inside(batch);
        return;
      } catch (error) {
        await this.#afterConflict(error, ++conflicts, batch);
      }
    }
  }

  /** Another partition changed a document that was read: waits a little. Any other error is thrown on. */
  async #afterConflict(error: unknown, conflicts: number, { ctx }: Batch<T>): Promise<void> {
    if (!BusError.is(error, "WRITE_CONFLICT") || ctx.signal.aborted) throw error;
    this.#options.stats.conflicts++;
    const { clock } = this.#host;
    const waitMs = backoffMs({ ...DEFAULT_RETRY, maxMs: 200 }, conflicts, clock.random());
    await pause(clock, waitMs, ctx.signal);
  }

  async #inside(batch: Batch<T>): Promise<void> {
    let failed: { readonly thrown: unknown } | undefined;
    let units: Unit["writes"] = [];
    const within = async (session: unknown): Promise<Unit["writes"]> => {
      try {
        units = await this.#units(await this.#handle(batch, undefined, session));
        return units;
      } catch (thrown) {
        // A fault of the engine ends the transaction, which begins anew; one of the handler's is its own.
        if (isEngineFault(thrown)) throw thrown;
        failed = { thrown };
        throw handlerFailed(thrown);
      }
    };
    try {
      await batch.ctx.settleBy((cursor) =>
        this.#send({ writes: [], cursor, within }, cursor, batch.ctx.signal),
      );
      this.#count(batch, units);
    } catch (error) {
      throw failed === undefined ? error : failed.thrown;
    }
  }

  /** What others keep has had its writes when the events came first. */
  #units(writes: GatheredWrites): Promise<Unit["writes"]> {
    return this.#options.replaying ? writes.units(this.#tables.owns) : writes.units();
  }

  #count({ events }: Batch<T>, units: Unit["writes"]): void {
    const { stats, purge } = this.#options;
    stats.events += events.length;
    stats.commits++;
    for (const { view } of units) purge?.watch(view);
  }

  /** Sends the unit until its outcome is known. */
  async #send(unit: Unit, write: CursorWrite, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#host;
    for (let failures = 0; ; ) {
      try {
        await store.documents.transact(unit);
        return;
      } catch (error) {
        if (BusError.is(error, "WRITE_CONFLICT") && (await tookEffect(this.#host, write))) return;
        if (BusError.is(error, "WRITE_CONFLICT") || !BusError.from(error).retryable || signal.aborted)
          throw error;
        await pause(clock, backoffMs({ ...DEFAULT_RETRY, maxMs: 2_000 }, ++failures, clock.random()), signal);
      }
    }
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
