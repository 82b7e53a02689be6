/** The collections of a store, what their documents look like, and the indexes they need. */

import type { Binary, Collection, Db, Document, ObjectId, Timestamp } from "mongodb";
import type { Seq } from "../../model/event.js";
import { NO_NAMES } from "../../model/no-names.js";
import type { TopicLayout } from "../../model/topic.js";
import type { Cursor } from "../../ports/groups.js";
import type { OutboxStatus } from "../../ports/outbox.js";
import type { BatchDocument } from "./batches/batch-document.js";
import { refuseForeign } from "./documents/foreign-documents.js";

/** A string, or the escaped form of one that UTF-8 cannot hold. */
export type Text = string | Binary;

/**
 * An event, or a range of removed ones: then `to` is there, the range is [seq, to], and what the event said is gone.
 *
 * Every seq up to the head is taken by an event or lies in a range; ranges never touch. The document at seq 1 always
 * exists and carries what the partition counts.
 */
export interface EventDocument {
  /** The event's id. Ranges keep that of the event they began with, until somebody publishes it again. */
  readonly _id: Text | ObjectId;
  readonly topic: string;
  readonly partition: number;
  readonly seq: Seq;
  readonly ts: number;
  /** Highest ts up to here, and bytes up to here. The writer of a seq knows its predecessor's, so these are exact. */
  readonly maxTs: number;
  readonly sumBytes: number;
  readonly key?: Text;
  /** It is in the index by key: it has one, and its topic asks for that (topic-traits.ts). */
  readonly keyed?: true;
  readonly headers?: Document;
  readonly caused_by?: readonly Text[];
  readonly tags?: readonly Text[];
  readonly sid?: Text;
  /** JSON text. */
  readonly payload?: string;
  /** The payload once more, as a document, for queries by hand; never read back. */
  readonly body?: unknown;
  /** On the last event of an append: those who watch look for these only. */
  readonly last?: true;
  /** On the same one: the server's logical time when it took the append in hand. */
  readonly at?: Timestamp;
  /** It was removed, and lies in a range; what it said is forgotten. Its place stays taken for a while (see trust.ts). */
  readonly gone?: true;
  readonly to?: Seq;
  /** Which part of the range was removed when, by the server's logical time; ascending, without gaps. */
  readonly parts?: readonly RangePart[];
  /** On the document at seq 1: removed events above the range that begins there, and how often something was removed. */
  readonly holes?: number;
  readonly removals?: number;
}

export interface RangePart {
  readonly from: Seq;
  readonly to: Seq;
  /** Before the removal, and after everything it removed. Absent on a standalone server, which has no such time. */
  readonly at?: Timestamp;
}

/** `_id` = topic/partition/group. Without a cursor the group was removed, and only the epoch is remembered. */
export interface CursorDocument {
  readonly _id: string;
  readonly topic: string;
  readonly group: string;
  readonly partition: number;
  readonly epoch: number;
  readonly owner: string | null;
  /** The last owner gave it back, or there was none. */
  readonly clean: boolean;
  readonly cursor?: Cursor;
  /** Which of its owner's writes the cursor is from; none since it was granted if missing. */
  readonly written?: number;
  /** Counts fenced appends, so that such an append and a change of owner exclude each other. */
  readonly fenced?: number;
}

/** A session and the groups its member joined. `open` is missing if it joined without (or after) a session. */
export interface MemberDocument {
  readonly _id: string;
  readonly open?: true;
  readonly host?: string;
  readonly pid?: number;
  readonly processStart?: string;
  readonly expiresAt: Date;
  /** Ids of the sessions of its transactions, the newest last. */
  readonly sessions?: readonly Binary[];
  /** Whose sessions these are, where the server knows users: "shop@admin". */
  readonly user?: string;
  /** topic/group */
  readonly groups?: readonly string[];
}

/** One document: the version of the newest change of a group, and the latest changes. */
export interface ChangesDocument {
  readonly _id: string;
  readonly version: number;
  readonly latest: readonly GroupChange[];
}

export interface GroupChange {
  readonly version: number;
  /** topic/group */
  readonly ref: string;
}

export interface ViewRow {
  readonly _id: Text;
  readonly version: number;
  readonly ts: number;
  readonly fields?: Document;
  readonly gone?: true;
}

export interface OutboxDocument {
  readonly _id: Text;
  readonly topic: string;
  readonly payload: string;
  readonly key?: Text;
  readonly headers?: Document;
  readonly ts?: number;
  readonly caused_by?: readonly Text[];
  readonly tags?: readonly Text[];
  readonly sid?: Text;
  /** Order of addition: the server's logical time, then the adder's own count. */
  readonly at: Timestamp | Date;
  readonly nth: string;
  readonly status: OutboxStatus;
  readonly failures: number;
  readonly error?: string;
  readonly token?: string;
  readonly addedMs: number;
  /** End of the lease while claimed, earliest next try while pending, time of sending once sent. */
  readonly dueMs: number;
}

export interface TopicDocument extends Document {
  readonly _id: string;
  readonly partitions: number;
  /** For the life of the topic; absent: "documents". */
  readonly layout?: TopicLayout;
  /** For the life of the topic: whether all its events are found by key by index. Absent: see topic-traits.ts. */
  readonly keyIndex?: boolean;
  /** It was removed when the sum of its heads was this, and is gone for as long as that is so (P2). */
  readonly removedAt?: number;
  /** Of one that was removed: places of its last events are taken still, see leftovers.ts. */
  readonly unswept?: true;
}

export interface SchemaDocument {
  readonly _id: string;
  readonly topic: string;
  readonly version: number;
  /** The version it follows: two that follow the same one exclude each other. */
  readonly follows: number;
  readonly compat: string;
  readonly document: string;
  readonly createdMs: number;
}

export interface TokenDocument {
  readonly _id: string;
  readonly value: string;
  readonly revision: number;
  /** Of the write that replaced it last (token-writes.ts). */
  readonly mark?: string;
}

export interface AuditDocument {
  readonly _id: number;
  readonly atMs: number;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly details?: string;
}

/** The handles of one store's collections in one database. */
export class Collections {
  readonly db: Db;
  readonly prefix: string;
  readonly events: Collection<EventDocument>;
  readonly batches: Collection<BatchDocument>;
  readonly cursors: Collection<CursorDocument>;
  readonly members: Collection<MemberDocument>;
  readonly changes: Collection<ChangesDocument>;
  readonly outbox: Collection<OutboxDocument>;
  readonly topics: Collection<TopicDocument>;
  readonly schemas: Collection<SchemaDocument>;
  readonly tokens: Collection<TokenDocument>;
  readonly audit: Collection<AuditDocument>;

  constructor(db: Db, prefix = "") {
    this.db = db;
    this.prefix = prefix;
    this.events = db.collection(`${prefix}events`);
    this.batches = db.collection(`${prefix}batches`);
    this.cursors = db.collection(`${prefix}cursors`);
    this.members = db.collection(`${prefix}members`);
    this.changes = db.collection(`${prefix}changes`);
    this.outbox = db.collection(`${prefix}outbox`);
    this.topics = db.collection(`${prefix}topics`);
    this.schemas = db.collection(`${prefix}schemas`);
    this.tokens = db.collection(`${prefix}tokens`);
    this.audit = db.collection(`${prefix}audit`);
  }

  view(name: string): Collection<ViewRow> {
    // "%" is in no view's name; MongoDB keeps "system." for itself.
    return this.db.collection(this.#viewPrefix + name.replaceAll("system.", "%system."), {
      fieldsAsRaw: NO_NAMES,
    });
  }

  /** The view that a collection holds, or undefined if it is none of our views. */
  viewIn(collection: string): string | undefined {
    if (!collection.startsWith(this.#viewPrefix)) return undefined;
    return collection.slice(this.#viewPrefix.length).replaceAll("%", "");
  }

  get #viewPrefix(): string {
    return `${this.prefix}view.`;
  }
}

/** Names of the indexes that code looks for in messages. */
export const PLACE_INDEX = "place";
export const IDS_INDEX = "ids";

/** Which cursors the index of owners holds. Only who says so in these words is answered by it. */
export const IS_OWNED = { owner: { $type: "string" } } as const;

/** How long a session that ran out is remembered: its bus may have slept. */
const SWEEP_AFTER_SECONDS = 3_600;

/**
 * Creates every index that is missing; harmless when they are there. Collections of others that have the same names are
 * left alone: STORE_INCOMPATIBLE.
 *
 * @example
 * await ensureIndexes(client.db("app"));
 */
export async function ensureIndexes(db: Db, options: { readonly prefix?: string } = {}): Promise<void> {
  const c = new Collections(db, options.prefix);
  await refuseForeign(c);
  await c.events.createIndexes([
    { key: { topic: 1, partition: 1, seq: 1 }, unique: true, name: PLACE_INDEX },
    { key: { topic: 1, partition: 1, to: 1 }, name: "removed", partialFilterExpression: exists("to") },
    {
      key: { keyed: 1, topic: 1, key: 1, seq: -1, partition: -1 },
      name: "keys",
      partialFilterExpression: { keyed: true },
    },
    {
      key: { "headers.correlationId": 1 },
      name: "correlation",
      partialFilterExpression: exists("headers.correlationId"),
    },
    { key: { caused_by: 1 }, name: "cause", partialFilterExpression: exists("caused_by") },
  ]);
  await ensureBatchIndexes(c.batches);
  await c.cursors.createIndexes([
    { key: { topic: 1, group: 1, partition: 1 }, name: "group" },
    { key: { owner: 1 }, name: "owner", partialFilterExpression: IS_OWNED },
  ]);
  await c.members.createIndexes([
    { key: { groups: 1 }, name: "groups" },
    { key: { expiresAt: 1 }, name: "sweep", expireAfterSeconds: SWEEP_AFTER_SECONDS },
  ]);
  await ensureOutboxIndexes(c.outbox);
  await c.schemas.createIndexes([{ key: { topic: 1, follows: 1 }, unique: true, name: "succession" }]);
}

/** Arrays have an entry for each of their members; what chosen ids cost is told in batches/ids.ts. */
async function ensureBatchIndexes(batches: Collection<BatchDocument>): Promise<void> {
  await batches.createIndexes([
    { key: { topic: 1, partition: 1, first: 1 }, unique: true, name: PLACE_INDEX },
    { key: { ids: 1 }, unique: true, name: IDS_INDEX, partialFilterExpression: exists("ids") },
    { key: { idTo: 1, idFrom: 1 }, name: "made_ids", partialFilterExpression: exists("idTo") },
    { key: { topic: 1, keys: 1, last: -1 }, name: "key", partialFilterExpression: exists("keys") },
    { key: { correlations: 1 }, name: "correlation", partialFilterExpression: exists("correlations") },
    { key: { causes: 1 }, name: "cause", partialFilterExpression: exists("causes") },
    {
      key: { topic: 1, partition: 1, first: 1, holes: 1 },
      name: "holes",
      partialFilterExpression: exists("holes"),
    },
  ]);
}

export async function ensureOutboxIndexes(outbox: Collection<OutboxDocument>): Promise<void> {
  await outbox.createIndexes([
    { key: { status: 1, at: 1, nth: 1 }, name: "queue" },
    {
      key: { key: 1, at: 1, nth: 1 },
      name: "unsent_by_key",
      partialFilterExpression: { key: { $exists: true }, status: { $in: ["pending", "claimed", "dead"] } },
    },
  ]);
}

function exists(field: string): Document {
  return { [field]: { $exists: true } };
}
