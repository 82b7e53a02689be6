/**
 * Reconciliation: makes good what a feed has missed. The collection is scanned and compared with what was published
 * last of each document: what is new is published as an insert, what differs as a replace, what is gone as a delete.
 *
 * The scan sees all that was committed up to `at`, and the feed goes on with all changes since `at`: nothing falls
 * between. A document that changes meanwhile may be published twice, and an older state of it after a newer one, but its
 * last event tells its last state. A scan that is interrupted begins anew and finds that much is done.
 */
import type { Collection, Db, Document, Timestamp } from "mongodb";
import { sourceOf } from "./change-cursor.js";
import {
  digestOfText,
  exactId,
  type FeedEntry,
  foundEntry,
  idOfExact,
  type Naming,
} from "./collection-change.js";
import { exactText } from "./extended-json.js";
import type { PublishedStates } from "./published-states.js";

/** What the scan of a collection found: documents looked at, and those that were published. */
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
const PAGE_CHARACTERS = 4 * 1_048_576;

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
  page: readonly Found[],
  counts: ReconciliationCounts,
): Promise<void> {
  await work.alive();
  const known = await work.states.digests(page.map(({ document }) => exactId(document._id)));
  const entries: FeedEntry[] = [];
  for (const { document, digest } of page) {
    counts.scanned++;
    const before = known.get(exactId(document._id));
    if (before === digest) continue;
    counts[before === undefined ? "added" : "changed"]++;
    entries.push(foundEntry(document._id, document, before !== undefined, scanOf(work), work.naming));
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

interface Found {
  readonly document: Document;
  readonly digest: string;
}

async function* pagesOf(cursor: ReturnType<Collection["find"]>): AsyncGenerator<Found[]> {
  let page: Found[] = [];
  let characters = 0;
  for await (const document of cursor) {
    const text = exactText(document);
    page.push({ document, digest: digestOfText(text) });
    characters += text.length;
    if (page.length < PAGE && characters < PAGE_CHARACTERS) continue;
    yield page;
    page = [];
    characters = 0;
  }
  if (page.length > 0) yield page;
}
