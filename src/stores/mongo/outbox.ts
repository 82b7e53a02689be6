/**
 * The outbox in MongoDB (P10). An entry is added in the caller's transaction: no counter is touched, so that callers do
 * not wait for each other. Its place in the order is the server's logical time, which a transaction that begins after
 * another's commit always finds higher, and within one transaction the adder's own count. Leases, waits and how long ago an
 * entry was sent go by the server's clock, so that those of the drainers do not matter.
 */
import type { ClientSession, Collection, Db, Document, Filter } from "mongodb";
import { v7 } from "uuid";
import { BusError } from "../../model/errors.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type {
  ClaimOptions,
  OutboxClaim,
  OutboxEntry,
  OutboxFailure,
  OutboxRow,
  OutboxStats,
  OutboxStatus,
  OutboxStore,
} from "../../ports/outbox.js";
import { checkAddOptions, checkEntry, claimOptions, failureOf } from "../../ports/outbox-arguments.js";
import { bsonText } from "./bson-json.js";
import { ensureOutboxIndexes, type OutboxDocument } from "./collections.js";
import { freeEndedSockets } from "./connection/ended-sockets.js";
import { Gate } from "./connection/gate.js";
import { IN_ORDER, OutboxClaims, UNSENT } from "./outbox/outbox-claims.js";
import {
  entryFields,
  IS_DUE,
  inMs,
  rowOf,
  type ServerTimes,
  saysTheSame,
  sentBefore,
} from "./outbox/outbox-document.js";
import { claimOf, SentMarks } from "./outbox/outbox-marks.js";
import { type OutboxWatch, watchOutbox } from "./outbox/outbox-watch.js";

/** What can be said of an outbox in MongoDB. */
export interface MongoOutboxOptions {
  /** Default "outbox". */
  readonly collection?: string;
}

const OPTIONS = namesOf<MongoOutboxOptions>({ collection: true });

/**
 * An outbox in a collection of the caller's database.
 *
 * @example
 * const outbox = new MongoOutbox(client.db("shop"));
 * await outbox.prepare();
 * await client.withSession((session) => session.withTransaction(async () => {
 *   await orders.insertOne(order, { session });
 *   await outbox.add({ id: order.id, topic: "orders.placed", payload: order }, { session });
 * }));
 */
export class MongoOutbox implements OutboxStore {
  readonly #rows: Collection<OutboxDocument>;
  readonly #gate: Gate;
  readonly #claims: OutboxClaims;
  readonly #marks: SentMarks;
  readonly #watches = new Set<OutboxWatch>();
  /** Watches that were stopped and are not done yet. */
  readonly #ending = new Set<Promise<void>>();
  #logicalTime = true;
  #prepared: Promise<void> | undefined;

  constructor(db: Db, options: MongoOutboxOptions = {}, gate = new Gate()) {
    checkOptionNames("MongoOutbox", options, OPTIONS);
    this.#rows = db.collection(options.collection ?? "outbox", {
      readPreference: "primary",
      readConcern: { level: "majority" },
      writeConcern: { w: "majority", journal: true },
      promoteLongs: true,
      ignoreUndefined: true,
      raw: false,
    });
    this.#claims = new OutboxClaims(this.#rows);
    this.#marks = new SentMarks(this.#rows);
    this.#gate = gate;
  }

  /** Creates its indexes, and looks whether the server has a logical time. Who claims without it gets it done first. */
  prepare(): Promise<void> {
    this.#prepared ??= this.#prepare().catch((error: unknown) => {
      this.#prepared = undefined;
      throw error;
    });
    return this.#prepared;
  }

  async #prepare(): Promise<void> {
    const hello = await this.#rows.db.admin().command({ hello: 1 });
    this.#logicalTime = hello.setName !== undefined || hello.msg === "isdbgrid";
    await ensureOutboxIndexes(this.#rows);
  }

  add(entry: OutboxEntry, o: { nowMs?: number; session?: ClientSession } = {}): Promise<void> {
    return this.#gate.writeWithin(o.session, async () => {
      checkEntry(entry);
      checkAddOptions(o, ["session"]);
      const fields = entryFields(entry);
      const literals = Object.entries(fields).map(([name, value]) => [name, { $literal: value }]);
      const row = {
        _id: "$_id",
        ...(Object.fromEntries(literals) as Document),
        at: this.#logicalTime ? "$$CLUSTER_TIME" : "$$NOW",
        nth: v7(),
        status: "pending",
        failures: 0,
        addedMs: o.nowMs ?? Date.now(),
        dueMs: 0,
      };
      const options = o.session === undefined ? {} : { session: o.session };
      const present = await this.#rows.findOneAndUpdate(
        { _id: bsonText(entry.id) },
        [{ $replaceWith: { $cond: [{ $eq: [{ $type: "$status" }, "missing"] }, row, "$$ROOT"] } }],
        { ...options, upsert: true, returnDocument: "before" },
      );
      if (present === null || saysTheSame(present, entry)) return;
      throw new BusError("ID_CONFLICT", `the outbox holds another entry with id "${entry.id}"`, {
        details: { id: entry.id },
      });
    });
  }

  claimBatch(count: number, given?: Partial<ClaimOptions>): Promise<readonly OutboxClaim[]> {
    return this.#gate.write(async () => {
      const o = claimOptions(count, given);
      await this.prepare();
      return await this.#claims.claim(count, o);
    });
  }

  markSent(id: string, token: string, _o: { nowMs?: number } = {}): Promise<boolean> {
    return this.#gate.write(async () => {
      const claim = claimOf(id, token);
      return claim !== null && (await this.#marks.mark(claim));
    });
  }

  async markError(id: string, token: string, given: string | OutboxFailure): Promise<boolean> {
    const { dead: isDead, counts, error, retryAfterMs } = failureOf(given);
    const status = isDead ? "dead" : "pending";
    const dueMs = retryAfterMs > 0 ? inMs(retryAfterMs) : 0;
    const told = counts && { error: { $literal: error }, failures: { $add: ["$failures", 1] } };
    return this.#settle(id, token, [{ $set: { status, dueMs, ...told } }, { $unset: "token" }]);
  }

  #settle(id: string, token: string, update: Document[]): Promise<boolean> {
    return this.#gate.write(async () => {
      const claim = claimOf(id, token);
      if (claim === null) return false;
      const { matchedCount } = await this.#rows.updateOne({ ...claim, status: "claimed" }, update);
      return matchedCount === 1;
    });
  }

  requeueExpired(_nowMs?: number): Promise<number> {
    return this.#gate.write(async () => {
      const { modifiedCount } = await this.#rows.updateMany(
        { status: "claimed", ...IS_DUE },
        { $set: { status: "pending", dueMs: 0 }, $unset: { token: 1 } },
      );
      return modifiedCount;
    });
  }

  requeueDead(ids?: readonly string[]): Promise<number> {
    return this.#gate.write(async () => {
      const { modifiedCount } = await this.#rows.updateMany(dead(ids), {
        $set: { status: "pending", dueMs: 0, failures: 0 },
        $unset: { error: 1 },
      });
      return modifiedCount;
    });
  }

  discardDead(ids: readonly string[]): Promise<number> {
    return this.#gate.write(async () => (await this.#rows.deleteMany(dead(ids))).deletedCount);
  }

  purge(sentBeforeMs: number, { nowMs = Date.now() }: { nowMs?: number } = {}): Promise<number> {
    return this.#gate.write(async () => {
      const times = await this.#rows.db.admin().command({ hello: 1 });
      const old = sentBefore(nowMs - sentBeforeMs, times as ServerTimes & Document);
      return (await this.#rows.deleteMany(old)).deletedCount;
    });
  }

  /** By their index alone: however many there are, no more than one of each kind is read. */
  stats(): Promise<OutboxStats> {
    return this.#gate.read(async () => {
      const count = (status: OutboxStatus): Promise<number> => this.#rows.countDocuments({ status });
      const addedMs = (status: OutboxStatus): Promise<number | undefined> =>
        this.#rows
          .findOne({ status }, { sort: IN_ORDER, projection: { addedMs: 1 } })
          .then((first) => first?.addedMs);
      const [pending, claimed, sent, dead, ...oldest] = await Promise.all([
        count("pending"),
        count("claimed"),
        count("sent"),
        count("dead"),
        ...UNSENT.map(addedMs),
      ]);
      const oldestMs = Math.min(...oldest.map((ms) => ms ?? Number.POSITIVE_INFINITY));
      return { pending, claimed, sent, dead, oldestMs: Number.isFinite(oldestMs) ? oldestMs : null };
    });
  }

  list({ status, limit = 100 }: { status: OutboxStatus; limit?: number }): Promise<readonly OutboxRow[]> {
    return this.#gate.read(async () => {
      // To MongoDB, a limit of 0 is none.
      if (limit < 1) return [];
      const documents = await this.#rows.find({ status }).sort(IN_ORDER).limit(limit).toArray();
      return documents.map(rowOf);
    });
  }

  /** Wakes on entries that were committed or became pending again; without change streams the drainer's polling does. */
  watch(wake: () => void): () => void {
    this.#gate.check();
    const changes = watchOutbox(this.#rows, wake);
    // The drainer that watches must not wait for ever on a client of the caller's either.
    const stopFreeing = freeEndedSockets(this.#rows.db.client);
    const watch: OutboxWatch = { stop: () => changes.stop().finally(stopFreeing) };
    this.#watches.add(watch);
    return () => {
      if (this.#watches.delete(watch)) this.#stop(watch);
    };
  }

  /** Ends every watch. The client stays the caller's. */
  async close(): Promise<void> {
    for (const watch of this.#watches) this.#stop(watch);
    this.#watches.clear();
    await Promise.all(this.#ending);
  }

  #stop(watch: OutboxWatch): void {
    const ended = watch.stop().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

function dead(ids: readonly string[] | undefined): Filter<OutboxDocument> {
  return { status: "dead", ...(ids === undefined ? undefined : { _id: { $in: ids.map(bsonText) } }) };
}
