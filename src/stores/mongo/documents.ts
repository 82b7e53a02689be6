/**
 * Views in MongoDB: one collection each, one document per key. A deleted document stays as a tombstone (`gone`) with
 * its version until it is purged.
 */
import type { AnyBulkWriteOperation, ClientSession, Collection } from "mongodb";
import { BusError } from "../../model/errors.js";
import type { JsonObject } from "../../model/json.js";
import type {
  DocumentPage,
  DocumentQuery,
  Documents,
  DocumentWrite,
  Unit,
  ViewDocument,
  ViewIndex,
  ViewInfo,
  WriteResult,
} from "../../ports/documents.js";
import { bsonText, fromBson, plainText } from "./bson-json.js";
import type { ViewRow } from "./collections.js";
import type { Connection } from "./connection/connection.js";
import { isMongo } from "./connection/driver-kinds.js";
import { duplicateIndex, isDuplicateKey, isNoCollection, isTransient } from "./connection/errors.js";
import { duplicateValues, writeEach } from "./documents/document-each.js";
import { type FoldedWrite, foldWrites } from "./documents/document-fold.js";
import { type Stretch, stretchesOf, tokenAfter } from "./documents/document-query.js";
import { operatorsFor, updateFor } from "./documents/document-write.js";
import { mayHoldLists } from "./documents/list-fields.js";
import { createIndex, viewIndex } from "./documents/view-indexes.js";
import { commitCursor } from "./groups/cursor-document.js";

const TOMBSTONES = "tombstones";
const MAX_TRIES = 20;
/** So many writes are worth a transaction. */
const TOGETHER = 16;
const MOST_TOGETHER = 1_000;

export class MongoDocuments implements Documents {
  readonly #connection: Connection;
  /** Views that exist for sure: a transaction should not have to create collections. */
  readonly #known = new Set<string>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  define(view: string, indexes: readonly ViewIndex[]): Promise<void> {
    return this.#connection.gate.write(async () => {
      const rows = await this.#ensure(view);
      try {
        for (const index of indexes) await createIndex(rows, index);
      } catch (error) {
        throw isDuplicateKey(error) ? duplicateValues(view, error) : error;
      }
    });
  }

  write(view: string, writes: readonly DocumentWrite[]): Promise<WriteResult> {
    return this.#connection.gate.write(async () => {
      if (writes.some((write) => write.expected !== undefined)) {
        throw new BusError("INVALID_OPTION", "`expected` is for transact; write does not compare");
      }
      const rows = await this.#ensure(view);
      let [applied, stale] = [0, 0];
      for (let start = 0; start < writes.length; start += MOST_TOGETHER) {
        const some = writes.slice(start, start + MOST_TOGETHER);
        const done = (await this.#writeTogether(view, some)) ?? (await writeEach(rows, view, some));
        applied += done.applied;
        stale += done.stale;
      }
      return { applied, stale };
    });
  }

  /**
   * In one transaction, which takes the server half as long as that many updates by themselves. Null if it had no effect:
   * then each has to go alone. Only in sessions that are ended when this process dies, or others would wait for them.
   */
  async #writeTogether(view: string, writes: readonly DocumentWrite[]): Promise<WriteResult | null> {
    const { replicaSet, sessions } = this.#connection;
    if (writes.length < TOGETHER || !replicaSet || !sessions.areNamed) return null;
    try {
      return await this.#connection.transact((session) =>
        this.#commit({ writes: [{ view, writes }] }, session, FOLDED),
      );
    } catch (error) {
      if (isMongo(error, "MongoServerError") && !isTransient(error)) return null;
      throw error;
    }
  }

  transact(unit: Unit): Promise<WriteResult> {
    return this.#connection.gate.write(async () => {
      if (!this.#connection.replicaSet) {
        throw new BusError(
          "UNSUPPORTED",
          "a standalone MongoDB server has no transactions: make it a replica set",
        );
      }
      for (const { view } of unit.writes) await this.#ensure(view);
      // Folded writes by operators first; what these cannot do is done write by write, which takes the server longer.
      let form: Form = FOLDED;
      for (let tries = 1; ; tries++) {
        try {
          return await this.#connection.transact((session) => this.#commit(unit, session, form));
        } catch (error) {
          const duplicate = isDuplicateKey(error);
          const onKey = duplicate && duplicateIndex((error as Error).message) === "_id_";
          if (onKey && tries < MAX_TRIES) continue;
          if (form === FOLDED && (duplicate || isTypeMismatch(error))) form = ONE_BY_ONE;
          else if (duplicate) throw duplicateValues(unit.writes.map((w) => w.view).join(", "), error);
          else throw error;
        }
      }
    });
  }

  async #commit(unit: Unit, session: ClientSession, form: Form): Promise<WriteResult> {
    if (unit.cursor !== undefined)
      await commitCursor(this.#connection.collections.cursors, unit.cursor, session);
    const besides = (await unit.within?.(session)) ?? [];
    let applied = 0;
    let count = 0;
    for (const { view, writes } of [...unit.writes, ...besides]) {
      const rows = this.#connection.collections.view(view);
      for (const run of runsOf(form.folded(writes))) {
        await checkExpected(rows, view, run, session);
        const { modifiedCount, upsertedCount } = await rows.bulkWrite(run.map(form.update), {
          session,
          ordered: true,
        });
        const sent = run.reduce((sum, folded) => sum + folded.count, 0);
        // A write without a version always takes effect; only such ones were folded.
        applied += modifiedCount + upsertedCount + sent - run.length;
        count += sent;
      }
    }
    return { applied, stale: count - applied };
  }

  get(view: string, keys: readonly string[]): Promise<ReadonlyMap<string, ViewDocument>> {
    return this.#connection.gate.read(async () => {
      if (keys.length === 0) return new Map();
      const rows = await this.#connection.collections
        .view(view)
        .find({ _id: { $in: keys.map(bsonText) }, gone: { $exists: false } })
        .toArray();
      return new Map(rows.map((row) => [plainText(row._id), documentOf(row)]));
    });
  }

  find(view: string, query: DocumentQuery): Promise<DocumentPage> {
    return this.#connection.gate.read(async () => {
      const collection = this.#connection.collections.view(view);
      const found: { row: ViewRow; rank: Parameters<typeof tokenAfter>[1] }[] = [];
      for (const stretch of stretchesOf(query)) {
        // One more than asked tells whether there is another page.
        const wanted = query.limit + 1 - found.length;
        if (wanted <= 0) break;
        const filter = await filterFor(collection, stretch);
        const rows = await collection.find(filter).sort(stretch.sort).limit(wanted).toArray();
        found.push(...rows.map((row) => ({ row, rank: stretch.rank })));
      }
      const page = found.slice(0, query.limit);
      const last = page.at(-1);
      const more = found.length > page.length && last !== undefined;
      return {
        documents: page.map(({ row }) => documentOf(row)),
        next: more ? tokenAfter(last.row, last.rank, query) : null,
      };
    });
  }

  views(): Promise<readonly ViewInfo[]> {
    return this.#connection.gate.read(async () => {
      const { collections, db } = this.#connection;
      // Somebody may have a view of MongoDB's own under such a name.
      const present = await db.listCollections({ type: "collection" }, { nameOnly: true }).toArray();
      const views = present.flatMap(({ name }) => collections.viewIn(name) ?? []);
      return (await Promise.all(views.sort().map((view) => this.#infoIfThere(view)))).flat();
    });
  }

  /** Nothing of one that was removed since it was listed. */
  async #infoIfThere(view: string): Promise<ViewInfo[]> {
    try {
      return [await this.#info(view)];
    } catch (error) {
      if (isNoCollection(error)) return [];
      throw error;
    }
  }

  async #info(view: string): Promise<ViewInfo> {
    const rows = this.#connection.collections.view(view);
    const [all, gone, indexes] = await Promise.all([
      rows.estimatedDocumentCount(),
      // Naming their time makes the server go by the index of tombstones.
      rows.countDocuments({ gone: true, ts: { $gte: Number.NEGATIVE_INFINITY } }),
      rows.indexes(),
    ]);
    return {
      view,
      documents: Math.max(0, all - gone),
      indexes: indexes.flatMap((index) => viewIndex(index)),
    };
  }

  drop(view: string): Promise<void> {
    return this.#connection.gate.write(async () => {
      this.#known.delete(view);
      await this.#connection.collections.view(view).drop();
    });
  }

  purge(view: string, beforeTs: number): Promise<number> {
    return this.#connection.gate.write(async () => {
      const rows = this.#connection.collections.view(view);
      return (await rows.deleteMany({ gone: true, ts: { $lt: beforeTs } })).deletedCount;
    });
  }

  async #ensure(view: string): Promise<Collection<ViewRow>> {
    const rows = this.#connection.collections.view(view);
    if (!this.#known.has(view)) {
      await rows.createIndex({ ts: 1 }, { name: TOMBSTONES, partialFilterExpression: { gone: true } });
      this.#known.add(view);
    }
    return rows;
  }
}

async function filterFor(
  rows: Collection<ViewRow>,
  { filter, withoutLists }: Stretch,
): Promise<Stretch["filter"]> {
  if (withoutLists === undefined || (await mayHoldLists(rows, withoutLists.path))) return filter;
  return withoutLists.filter;
}

/** How writes of a transaction become updates. */
interface Form {
  readonly folded: (writes: readonly DocumentWrite[]) => FoldedWrite[];
  readonly update: (folded: FoldedWrite) => AnyBulkWriteOperation<ViewRow>;
}

const FOLDED: Form = { folded: foldWrites, update: operatorsFor };

/** For values that must be unique, and may go from one document to another, the order of all writes counts. */
const ONE_BY_ONE: Form = {
  folded: (writes) => writes.map((write) => ({ write, count: 1 })),
  update: ({ write }) => updateFor(write),
};

/** Runs of writes in which nobody expects what an earlier one of the same run leaves: all can be looked up before it. */
function runsOf(writes: readonly FoldedWrite[]): FoldedWrite[][] {
  const runs: FoldedWrite[][] = [];
  let keys = new Set<string>();
  for (const folded of writes) {
    const { key, expected } = folded.write;
    const run = runs.at(-1);
    if (run === undefined || (expected !== undefined && keys.has(key))) {
      runs.push([folded]);
      keys = new Set();
    } else run.push(folded);
    keys.add(key);
  }
  return runs;
}

/** An operator that found something else than a number. */
function isTypeMismatch(error: unknown): boolean {
  return isMongo(error, "MongoServerError") && error.code === 14;
}

async function checkExpected(
  rows: Collection<ViewRow>,
  view: string,
  run: readonly FoldedWrite[],
  session: ClientSession,
): Promise<void> {
  const expecting = run.map(({ write }) => write).filter(({ expected }) => expected !== undefined);
  if (expecting.length === 0) return;
  const present = await rows
    .find({ _id: { $in: expecting.map(({ key }) => bsonText(key)) } }, { session })
    .project<Pick<ViewRow, "_id" | "version" | "gone">>({ version: 1, gone: 1 })
    .toArray();
  const versions = new Map(present.map((row) => [plainText(row._id), row.gone ? null : row.version]));
  for (const { key, expected } of expecting) {
    const version = versions.get(key) ?? null;
    if (version === expected) continue;
    throw new BusError(
      "WRITE_CONFLICT",
      `document "${key}" of view "${view}" is at version ${version}, not at ${expected}`,
      { details: { view, key, version } },
    );
  }
}

function documentOf(row: ViewRow): ViewDocument {
  const { version, ts } = row;
  return Object.freeze({
    key: plainText(row._id),
    version,
    ts,
    fields: fromBson(row.fields ?? {}) as JsonObject,
  });
}
