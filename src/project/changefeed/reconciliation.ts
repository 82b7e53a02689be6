/**
 * Reconciliation: makes good what a feed has missed. The collection is scanned and compared with what was published
 * last of each document: what is new is published as an insert, what differs as a replace, what is gone as a delete.
 *
 * The scan sees all that was committed up to `at`, and the feed goes on with all changes since `at`: nothing falls
 * between. A document that changes meanwhile may be published twice, and an older state of it after a newer one, but its
 * last event tells its last state. A scan that is interrupted begins anew and finds that much is done.
 */
import { BSON, type Collection, type Db, type Document, type Timestamp } from "mongodb";
import { sourceOf } from "./change-cursor.js";
import {
  digestOf,
  exactId,
  type FeedEntry,
  foundEntry,
  idOfExact,
  type Naming,
} from "./collection-change.js";
import type { PublishedStates } from "./published-states.js";

export interface ReconciliationCounts {
  scanned: number;
  added: number;
  changed: number;
  deleted: number;
}

export interface Reconciliation {
  readonly db: Db;
  readonly naming: Naming;
  readonly states: PublishedStates;
  readonly at: Timestamp;
  readonly run: number;
  readonly nowMs: () => number;
  /** Publishes and remembers; called with at most a page. */
  readonly emit: (entries: readonly FeedEntry[]) => Promise<void>;
  /** Throws when the feed is to stop, or is run by another process. */
  readonly alive: () => Promise<void>;
}

const PAGE = 500;
const PAGE_BYTES = 4 * 1_048_576;

export async function reconcile(work: Reconciliation): Promise<ReconciliationCounts> {
  const counts: ReconciliationCounts = { scanned: 0, added: 0, changed: 0, deleted: 0 };
  const session = work.db.client.startSession({ causalConsistency: true });
  session.advanceOperationTime(work.at);
  try {
    const source = sourceOf(work.db, work.naming.collection);
    const cursor = source.find({}, { session, batchSize: PAGE, noCursorTimeout: true });
    try {
      for await (const page of pagesOf(cursor)) await comparePage(work, page, counts);
    } finally {
      await cursor.close();
    }
    for await (const ids of work.states.all()) {
      const present = await source
        .find({ _id: { $in: ids.map(idOfExact) } } as Document, { session, projection: { _id: 1 } })
        .toArray();
      await findGone(work, ids, new Set(present.map(({ _id }) => exactId(_id))), counts);
    }
    return counts;
  } finally {
    await session.endSession();
  }
}

async function comparePage(
  work: Reconciliation,
  page: readonly Document[],
  counts: ReconciliationCounts,
): Promise<void> {
  await work.alive();
  const known = await work.states.digests(page.map(({ _id }) => exactId(_id)));
  const entries: FeedEntry[] = [];
  for (const document of page) {
    counts.scanned++;
    const digest = known.get(exactId(document._id));
    if (digest === digestOf(document)) continue;
    counts[digest === undefined ? "added" : "changed"]++;
    entries.push(foundEntry(document._id, document, digest !== undefined, scanOf(work), work.naming));
  }
  if (entries.length > 0) await work.emit(entries);
}

async function findGone(
  work: Reconciliation,
  ids: readonly string[],
  present: ReadonlySet<string>,
  counts: ReconciliationCounts,
): Promise<void> {
  await work.alive();
  const gone = ids.filter((id) => !present.has(id));
  counts.deleted += gone.length;
  if (gone.length === 0) return;
  await work.emit(gone.map((id) => foundEntry(idOfExact(id), null, true, scanOf(work), work.naming)));
}

function scanOf({ run, nowMs }: Reconciliation): { run: number; nowMs: number } {
  return { run, nowMs: nowMs() };
}

async function* pagesOf(cursor: ReturnType<Collection["find"]>): AsyncGenerator<Document[]> {
  let page: Document[] = [];
  let bytes = 0;
  for await (const document of cursor) {
    page.push(document);
    bytes += BSON.calculateObjectSize(document);
    if (page.length < PAGE && bytes < PAGE_BYTES) continue;
    yield page;
    page = [];
    bytes = 0;
  }
  if (page.length > 0) yield page;
}
