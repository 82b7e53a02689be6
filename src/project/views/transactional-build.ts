/**
 * One build of a transactional projector's views: runs the handler on batches and commits what it wrote with the cursor.
 *
 *   batch 1: handler · commit ────────┐
 *   batch 2:           handler · commit ────────┐
 *   batch 3:                     handler · (waits for the answer to commit 1) · commit
 *
 * While batches commit, the next is delivered and the handler runs on it. What commits under way write can be read only
 * once they are through; if one has to be made anew, so have those after it. So each batch sees what all before it did. If
 * a commit fails for good, the batches behind it are given back, to come again after it.
 *
 * A commit expects the floor that the one before it leaves, so that it has no effect without that (P9). A store that takes
 * units in order is sent two at a time; any other is sent the next when the one before is answered.
 */
import { pause } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import type { Stop } from "../../model/event-bus.js";
import { backoffMs, DEFAULT_RETRY } from "../../model/retry.js";
import { topicName } from "../../model/topic.js";
import type { Unit } from "../../ports/documents.js";
import type { CursorWrite } from "../../ports/groups.js";
import type { Host, SettlingContext } from "../host.js";
import { effectsDone, type Floors } from "./build-effects.js";
import { BuildTables, buildGroup, type Keeper, keeperName } from "./kept-views.js";
import type { TombstonePurge } from "./tombstone-purge.js";
import { GatheredWrites } from "./transaction.js";
import type { TransactionalOptions } from "./transactional.js";
import { Commit, type End } from "./transactional-commit.js";
import { contextOf, Emissions } from "./transactional-context.js";
import { suffixOf } from "./view-pointer.js";

const BATCH_SIZE = 500;
const ACK_TIMEOUT_MS = 30_000;
/** Longer than any commit is tried for. */
const WAIT_MS = 2 ** 40;

export interface BuildOptions<T> {
  readonly projector: TransactionalOptions<T>;
  /** The build's name; that of the projector's pointer if it is the first. */
  readonly build: string;
  /** Made beside the one in use: whatever has effects elsewhere must not happen again. */
  readonly replaying: boolean;
  readonly stats: { events: number; commits: number; conflicts: number };
  readonly purge?: TombstonePurge;
}

/** Projects the topic into the tables of the build that counts; null if another one counts by the time it could begin. */
export async function feedCounting<T>(
  host: Host,
  options: Omit<BuildOptions<T>, "replaying">,
  signal: AbortSignal,
): Promise<Stop | null> {
  const done = await effectsDone(host, keeperOf(options.projector), options.build, signal);
  return done && feedBuild(host, { ...options, replaying: false }, done);
}

function keeperOf<T>({ topic, group }: TransactionalOptions<T>): Keeper {
  return { topic: topicName(topic), group };
}

/** Projects the topic into the tables of one build; `done`: events that have had their effects. */
export function feedBuild<T>(host: Host, options: BuildOptions<T>, done: Floors = new Map()): Promise<Stop> {
  const { projector, build, replaying } = options;
  const keeper = keeperOf(projector);
  const batchSize = projector.batchSize ?? BATCH_SIZE;
  const run = new TransactionalBuild(host, options, keeper, done);
  return host.subscribeBatch<T>(projector.topic, buildGroup(keeper, build), run.project, {
    from: replaying ? "earliest" : (projector.from ?? "earliest"),
    ordering: "partition",
    batchSize,
    maxInFlight: batchSize * 64,
    ackTimeoutMs: ACK_TIMEOUT_MS,
    ...(projector.maxAttempts !== undefined && { maxAttempts: projector.maxAttempts }),
  });
}

/** Events that are committed together. */
interface Batch<T> {
  readonly events: readonly EventRecord<T>[];
  readonly ctx: SettlingContext;
  /** What it was delivered under: partition and epoch. */
  readonly lease: string;
  /** When it was delivered, on the steady clock. */
  readonly startedMs: number;
  readonly emissions: Emissions;
}

type Begun = Commit | undefined;

type Outcome = { readonly writes: GatheredWrites } | { readonly thrown: unknown };

class TransactionalBuild<T> {
  readonly #host: Host;
  readonly #options: BuildOptions<T>;
  readonly #tables: BuildTables;
  /** Events that another build took in, with all that follows from them. */
  readonly #effectsDone: Floors;
  /** The newest commit under way of each lease. */
  readonly #commits = new Map<string, Commit>();

  constructor(host: Host, options: BuildOptions<T>, keeper: Keeper, effectsDone: Floors) {
    this.#host = host;
    this.#options = options;
    this.#effectsDone = effectsDone;
    this.#tables = new BuildTables(host, keeper, suffixOf(options.build, keeperName(keeper)));
  }

  /** Called for the next batch of a partition as soon as the commit of the one before is under way. */
  readonly project = async (events: readonly EventRecord<T>[], context: unknown): Promise<void> => {
    const ctx = context as SettlingContext;
    const lease = `${ctx.fence.partition}:${ctx.fence.epoch}`;
    const startedMs = this.#host.clock.steady();
    const batch = { events, ctx, lease, startedMs, emissions: new Emissions() };
    const before = this.#commits.get(lease);
    const begin = this.#options.projector.session ? this.#beginInside : this.#begin;
    const commit = await begin(batch, before);
    try {
      await commit?.done;
    } finally {
      if (this.#commits.get(lease) === commit) this.#commits.delete(lease);
    }
  };

  /** Runs the handler beside the commits under way; begins the next when there is room for it. Undefined if they failed. */
  readonly #begin = async (batch: Batch<T>, before: Commit | undefined): Promise<Begun> => {
    let outcome = await this.#outcome(batch, before);
    let behind = before;
    if (before !== undefined && ("thrown" in outcome || !(await this.#mayFollow(before, batch)))) {
      const end = await this.#endOf(before, batch);
      if (end === "failed") return undefined;
      if (end === "again") outcome = await this.#outcome(batch, undefined);
      behind = undefined;
    }
    if ("thrown" in outcome) throw outcome.thrown;
    const { writes } = outcome;
    return this.#start(batch, new Commit(writes, behind, (commit) => this.#commit(batch, writes, commit)));
  };

  /** Known from now on to whoever comes behind it. */
  #start({ lease }: Batch<T>, commit: Commit): Commit {
    this.#commits.set(lease, commit);
    return commit;
  }

  /**
   * Whether a commit may be sent behind one that is under way: where the store takes them in order, up to two at a time.
   * It expects the floor that the one before it leaves, so that it has no effect without that (P9).
   */
  async #mayFollow(before: Commit, batch: Batch<T>): Promise<boolean> {
    if (!this.#host.store.capabilities.transactsInOrder) return false;
    if (before.before !== undefined) await this.#waitFor(before.before, batch);
    return !before.isSpoiled;
  }

  /** The handler waits as well: it may look at what the commit before it wrote with the session. */
  readonly #beginInside = async (batch: Batch<T>, before: Commit | undefined): Promise<Begun> => {
    if (before !== undefined && (await this.#endOf(before, batch)) === "failed") return undefined;
    return this.#start(
      batch,
      new Commit(undefined, undefined, (commit) => this.#commitInside(batch, commit)),
    );
  };

  /** What came behind a batch that failed must not be settled before it: it is given back. */
  async #endOf(before: Commit, batch: Batch<T>): Promise<End> {
    const end = await this.#waitFor(before, batch);
    if (end === "failed") batch.ctx.giveBack("the events before it could not be committed");
    return end;
  }

  /** However long that takes, it is not this batch that is late: halfway to its deadline it gets more time. */
  async #waitFor(before: Commit, { ctx, startedMs }: Batch<T>): Promise<End> {
    const { clock } = this.#host;
    let isLong = false;
    const cancel = clock.setTimer(Math.max(0, startedMs + ACK_TIMEOUT_MS / 2 - clock.steady()), () => {
      isLong = true;
      try {
        ctx.extend(WAIT_MS);
      } catch {
        // Its lease is gone already: it cannot be settled any more.
      }
    });
    const end = await before.end;
    cancel();
    if (isLong && end !== "failed") ctx.extend(ACK_TIMEOUT_MS);
    return end;
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
      after: [after, after?.before].flatMap((one) =>
        one?.writes ? [{ writes: one.writes, done: one.end }] : [],
      ),
      ...(session !== undefined && { session }),
    });
    const { events } = batch;
    const done = replaying ? events.length : this.#withEffects(batch);
    const run = async (from: number, to: number): Promise<void> => {
      if (from === to) return;
      const ctx = contextOf(batch.ctx, { replaying: to <= done, from, to, emissions: batch.emissions });
      await projector.handler(events.slice(from, to), writes, ctx);
      await this.#tables.note(writes.written);
    };
    await run(0, done);
    // What others keep has had its writes when the events came first.
    if (done > 0) writes.keepOnly(this.#tables.owns);
    await run(done, events.length);
    return writes;
  }

  /** How many events of a batch have had their effects. */
  #withEffects({ events, ctx }: Batch<T>): number {
    const through = this.#effectsDone.get(ctx.fence.partition) ?? 0;
    if (through === 0) return 0;
    const next = events.findIndex(({ seq }) => seq > through);
    return next < 0 ? events.length : next;
  }

  /** One commit of all that was written; after a conflict the handler runs again, on what is there now. */
  async #commit(batch: Batch<T>, first: GatheredWrites, commit: Commit): Promise<void> {
    const early = this.#host.store.capabilities.transactsInOrder === true;
    for (let writes = first, conflicts = 0; ; ) {
      try {
        const units = await writes.units();
        const send = (cursor: CursorWrite): Promise<void> =>
          this.#send({ writes: units, cursor }, cursor, batch.ctx.signal, commit.before);
        await batch.ctx.settleBy(send, { early });
        this.#count(batch, units);
        // It took effect, so the one before it did too; but that may not have been told yet.
        await commit.before?.end;
        return;
      } catch (error) {
        commit.isSpoiled = true;
        checkConflict(error, batch.ctx.signal);
        const { before } = commit;
        commit.stepForward();
        const end = before && (await this.#endOf(before, batch));
        if (end === "failed") throw error;
        if (end !== "again") await this.#afterConflict(error, ++conflicts, batch);
        writes = await this.#handle(batch);
      }
    }
  }

  /** The handler inside the transaction, so that it can use its session. */
  async #commitInside(batch: Batch<T>, commit: Commit): Promise<void> {
    for (let conflicts = 0; ; ) {
      try {
        await this.#inside(batch);
        return;
      } catch (error) {
        commit.isSpoiled = true;
        checkConflict(error, batch.ctx.signal);
        await this.#afterConflict(error, ++conflicts, batch);
      }
    }
  }

  /** Another partition changed a document that was read: waits a little. What came too early has to come again. */
  async #afterConflict(error: unknown, conflicts: number, { ctx }: Batch<T>): Promise<void> {
    this.#options.stats.conflicts++;
    const { clock } = this.#host;
    const waitMs = backoffMs({ ...DEFAULT_RETRY, maxMs: 200 }, conflicts, clock.random());
    await pause(clock, waitMs, ctx.signal);
    if (BusError.from(error).details?.early !== true) return;
    ctx.giveBack("events before it are to be committed first");
    throw error;
  }

  async #inside(batch: Batch<T>): Promise<void> {
    let failed: { readonly thrown: unknown } | undefined;
    let units: Unit["writes"] = [];
    const within = async (session: unknown): Promise<Unit["writes"]> => {
      try {
        units = await (await this.#handle(batch, undefined, session)).units();
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

  #count({ events }: Batch<T>, units: Unit["writes"]): void {
    const { stats, purge } = this.#options;
    stats.events += events.length;
    stats.commits++;
    for (const { view } of units) purge?.watch(view);
  }

  /** Sends the unit until its outcome is known. `before`: what it was sent behind; it can only take effect after that. */
  async #send(unit: Unit, write: CursorWrite, signal: AbortSignal, before?: Commit): Promise<void> {
    const { store, clock } = this.#host;
    for (let failures = 0; ; ) {
      try {
        if (before?.isSpoiled) throw overtaken();
        await store.documents.transact(unit);
        return;
      } catch (error) {
        if (before !== undefined && (await before.end) !== "as sent") throw overtaken(error);
        const isConflict = BusError.is(error, "WRITE_CONFLICT");
        const isRefused = isConflict || !BusError.from(error).retryable;
        if ((isConflict || (isRefused && failures > 0)) && (await tookEffect(this.#host, write))) return;
        if (isRefused || signal.aborted) throw error;
        await pause(clock, backoffMs({ ...DEFAULT_RETRY, maxMs: 2_000 }, ++failures, clock.random()), signal);
      }
    }
  }
}

/**
 * Only after a conflict, and while the events are its own, a commit is tried again; any other error is thrown on. One that the
 * store would not let go on for so long would end so again: its events come again in halves.
 */
function checkConflict(error: unknown, signal: AbortSignal): void {
  if (!BusError.is(error, "WRITE_CONFLICT") || error.details?.tooLong === true || signal.aborted) throw error;
}

/** The one before it did not end as it was when this one was made: so this one had no effect. */
function overtaken(cause?: unknown): BusError {
  return new BusError("WRITE_CONFLICT", "the commit before it did not end as it was sent", {
    retryable: false,
    cause,
  });
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
