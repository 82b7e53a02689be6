/**
 * The outbox in MongoDB (P10). An entry is added in the caller's transaction: no counter is touched, so that callers do
 * not wait for each other. Its place in the order is the server's logical time, which a transaction that begins after
 * another's commit always finds higher, and within one transaction the adder's own count.
 *
 * Several drainers may claim at once. One that gets a later entry of a key but not an earlier one gives it back
 * before anybody sees it, so entries of one key are held by one drainer at a time, in order.
 */
import { randomUUID } from "node:crypto";
import type { ClientSession, Collection, Db, Document, Filter } from "mongodb";
import { v7 } from "uuid";
import { BusError } from "../../model/errors.js";
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
import { checkEntry, claimOptions, failureOf } from "../../ports/outbox-arguments.js";
import { bsonText, plainText } from "./bson-json.js";
import { ensureOutboxIndexes, type OutboxDocument } from "./collections.js";
import { freeEndedSockets } from "./ended-sockets.js";
import { Gate } from "./gate.js";
import { entryFields, entryOf, isBefore, rowOf, saysTheSame } from "./outbox-document.js";
import { type OutboxWatch, watchOutbox } from "./outbox-watch.js";

type Status = Exclude<OutboxStatus, "sent">;
const UNSENT: readonly Status[] = ["pending", "claimed", "dead"];
const IN_ORDER = { at: 1, nth: 1 } as const;
/** Entries looked through for one batch; the rest is for the next call, which goes on there. */
const MAX_SCANNED = 5_000;
const LEAST_AT_ONCE = 100;
/** Keys that a query leaves out; entries of further ones are looked at, and passed by. */
const MAX_LEFT_OUT = 200;

export interface MongoOutboxOptions {
  /** Default "outbox". */
  readonly collection?: string;
}

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
  readonly #watches = new Set<OutboxWatch>();
  /** Watches that were stopped and are not done yet. */
  readonly #ending = new Set<Promise<void>>();
  #logicalTime = true;
  /** The last entry that was looked at, if the last call had to stop there. */
  #scannedTo: OutboxDocument | undefined;
  #prepared: Promise<void> | undefined;

  constructor(db: Db, options: MongoOutboxOptions = {}, gate = new Gate()) {
    this.#rows = db.collection(options.collection ?? "outbox", {
      readPreference: "primary",
      readConcern: { level: "majority" },
      writeConcern: { w: "majority", journal: true },
      promoteLongs: true,
      ignoreUndefined: true,
      raw: false,
    });
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
      const wanted = await this.#claimable(count, o.nowMs);
      if (wanted.length === 0) return [];
      const token = `${o.owner}/${randomUUID()}`;
      await this.#rows.updateMany(
        { _id: { $in: wanted.map(({ _id }) => _id) }, status: "pending", dueMs: { $lte: o.nowMs } },
        { $set: { status: "claimed", token, dueMs: o.nowMs + o.leaseMs } },
      );
      const held = await this.#rows.find({ token, status: "claimed" }).toArray();
      const got = new Set(held.map(({ _id }) => plainText(_id)));
      const { kept: unbroken, surplus } = withoutGaps(wanted, got);
      const rivals = await this.#rivals(unbroken, token);
      const kept = unbroken.filter((document) => !isBehind(document, rivals));
      surplus.push(...unbroken.filter((document) => isBehind(document, rivals)));
      if (surplus.length > 0) {
        await this.#rows.updateMany(
          { _id: { $in: surplus.map(({ _id }) => _id) }, token },
          { $set: { status: "pending", dueMs: 0 }, $unset: { token: 1 } },
        );
      }
      return kept.map((document) => ({
        ...entryOf(document),
        token: `${token} ${plainText(document._id)}`,
        failures: document.failures,
      }));
    });
  }

  /**
   * The first `count` entries, in order, that are due and whose key nobody holds up. A key that is held up may have any
   * number of entries behind it: once one of them was met, the others are left out.
   */
  async #claimable(count: number, nowMs: number): Promise<OutboxDocument[]> {
    const found: OutboxDocument[] = [];
    const heldUp = new Set<string>();
    let last = this.#scannedTo;
    this.#scannedTo = undefined;
    for (let scanned = 0; found.length < count; ) {
      const { page, isEnd } = await this.#due(nowMs, { after: last, without: heldUp, count });
      const blockers = await this.#blockers(page, nowMs);
      for (const document of page) {
        if (!isBehind(document, blockers)) found.push(document);
        else if (heldUp.size < MAX_LEFT_OUT) heldUp.add(plainText(document.key));
      }
      if (isEnd) break;
      last = page.at(-1);
      scanned += page.length;
      if (scanned >= MAX_SCANNED && found.length < count) {
        this.#scannedTo = last;
        break;
      }
    }
    return found.slice(0, count);
  }

  /** The next entries that are due, as many as one reply holds. */
  async #due(
    nowMs: number,
    o: { after: OutboxDocument | undefined; without: ReadonlySet<string>; count: number },
  ): Promise<{ page: OutboxDocument[]; isEnd: boolean }> {
    const { after, without } = o;
    const due: Filter<OutboxDocument> = {
      status: "pending",
      dueMs: { $lte: nowMs },
      ...(without.size > 0 && { key: { $nin: [...without].map(bsonText) } }),
      ...(after && { at: { $gte: after.at }, $or: [{ at: { $gt: after.at } }, { nth: { $gt: after.nth } }] }),
    };
    const size = Math.max(LEAST_AT_ONCE, o.count);
    const cursor = this.#rows.find(due).sort(IN_ORDER).limit(size).batchSize(size);
    try {
      await cursor.hasNext();
      const page = cursor.readBufferedDocuments();
      return { page, isEnd: page.length < size && cursor.id?.isZero() === true };
    } finally {
      await cursor.close();
    }
  }

  /** By key, the earliest entry that is unsent and cannot be claimed now. */
  async #blockers(page: readonly OutboxDocument[], nowMs: number): Promise<Map<string, OutboxDocument>> {
    const keys = [...new Set(page.flatMap(({ key }) => (key === undefined ? [] : [plainText(key)])))];
    if (keys.length === 0) return new Map();
    const blocked = await this.#rows
      .find({
        key: { $in: keys.map(bsonText) },
        status: { $in: UNSENT },
        $or: [{ status: { $ne: "pending" } }, { dueMs: { $gt: nowMs } }],
      })
      .sort(IN_ORDER)
      .project<OutboxDocument>({ payload: 0 })
      .toArray();
    return earliestByKey(blocked);
  }

  /**
   * By key, the earliest unsent entry that is not ours. Looked for once the claim holds: before that, another drainer
   * may have held an entry while the pending ones were read, and given it back before the blockers were.
   */
  async #rivals(claimed: readonly OutboxDocument[], token: string): Promise<Map<string, OutboxDocument>> {
    const keys = [...new Set(claimed.flatMap(({ key }) => (key === undefined ? [] : [plainText(key)])))];
    const last = claimed.at(-1);
    if (keys.length === 0 || last === undefined) return new Map();
    const unsent: Filter<OutboxDocument> = {
      key: { $in: keys.map(bsonText) },
      status: { $in: UNSENT },
      token: { $ne: token },
      at: { $lte: last.at },
    };
    const found = await this.#rows
      .find(unsent)
      .sort(IN_ORDER)
      .project<OutboxDocument>({ payload: 0 })
      .toArray();
    return earliestByKey(found);
  }

  markSent(id: string, token: string, o: { nowMs?: number } = {}): Promise<boolean> {
    const dueMs = o.nowMs ?? Date.now();
    return this.#settle(id, token, { $set: { status: "sent", dueMs }, $unset: { token: 1 } });
  }

  markError(id: string, token: string, given: string | OutboxFailure): Promise<boolean> {
    const { dead: isDead, counts, error, retryAtMs: dueMs } = failureOf(given);
    const status = isDead ? "dead" : "pending";
    return this.#settle(id, token, {
      $set: { status, dueMs, ...(counts && { error }) },
      $inc: { failures: counts ? 1 : 0 },
      $unset: { token: 1 },
    });
  }

  #settle(id: string, token: string, update: Document): Promise<boolean> {
    return this.#gate.write(async () => {
      // A batch is claimed under one token; each entry has its own by its id.
      if (typeof token !== "string" || !token.endsWith(` ${id}`)) return false;
      const batch = token.slice(0, -id.length - 1);
      const claimed = { _id: bsonText(id), token: batch, status: "claimed" as const };
      return (await this.#rows.updateOne(claimed, update)).matchedCount === 1;
    });
  }

  requeueExpired(nowMs = Date.now()): Promise<number> {
    return this.#gate.write(async () => {
      const { modifiedCount } = await this.#rows.updateMany(
        { status: "claimed", dueMs: { $lte: nowMs } },
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

  purge(sentBeforeMs: number): Promise<number> {
    return this.#gate.write(async () => {
      return (await this.#rows.deleteMany({ status: "sent", dueMs: { $lt: sentBeforeMs } })).deletedCount;
    });
  }

  stats(): Promise<OutboxStats> {
    return this.#gate.read(async () => {
      const groups = await this.#rows
        .aggregate<{ _id: OutboxStatus; count: number; oldestMs: number }>([
          { $group: { _id: "$status", count: { $sum: 1 }, oldestMs: { $min: "$addedMs" } } },
        ])
        .toArray();
      const counts = { pending: 0, claimed: 0, sent: 0, dead: 0 };
      let oldestMs: number | null = null;
      for (const group of groups) {
        counts[group._id] = group.count;
        if (group._id !== "sent") oldestMs = Math.min(oldestMs ?? group.oldestMs, group.oldestMs);
      }
      return { ...counts, oldestMs };
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

/** Per key, the entries up to the first that we did not get; what comes after that is surplus. */
function withoutGaps(
  wanted: readonly OutboxDocument[],
  got: ReadonlySet<string>,
): { kept: OutboxDocument[]; surplus: OutboxDocument[] } {
  const missed = new Set<string>();
  const kept: OutboxDocument[] = [];
  const surplus: OutboxDocument[] = [];
  for (const document of wanted) {
    const key = document.key === undefined ? undefined : plainText(document.key);
    const ours = got.has(plainText(document._id));
    if (!ours && key !== undefined) missed.add(key);
    if (ours) (key !== undefined && missed.has(key) ? surplus : kept).push(document);
  }
  return { kept, surplus };
}

function dead(ids: readonly string[] | undefined): Filter<OutboxDocument> {
  return { status: "dead", ...(ids === undefined ? undefined : { _id: { $in: ids.map(bsonText) } }) };
}

/** The first of each key; the documents come in order. */
function earliestByKey(documents: readonly OutboxDocument[]): Map<string, OutboxDocument> {
  const earliest = new Map<string, OutboxDocument>();
  for (const document of documents) {
    const key = plainText(document.key);
    if (!earliest.has(key)) earliest.set(key, document);
  }
  return earliest;
}

function isBehind(document: OutboxDocument, rivals: ReadonlyMap<string, OutboxDocument>): boolean {
  const rival = document.key === undefined ? undefined : rivals.get(plainText(document.key));
  return rival !== undefined && !isBefore(document, rival);
}
