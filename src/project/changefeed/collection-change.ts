/**
 * Changes of a MongoDB collection as events: what they say, their keys, their ids (P12). No I/O.
 *
 * The same change gives the same id on every machine, at every try: it is made of the change's own place in the
 * server's log. What a scan finds has no such place; its id is made of the scan's number and of the state found.
 */
import { createHash } from "node:crypto";
import type { Binary, BSONRegExp, ChangeStreamDocument, Document, Long, ObjectId, Timestamp } from "mongodb";
import { derivedId } from "../../model/derived-id.js";
import type { JsonObject, JsonValue } from "../../model/json.js";
import { exactText, isKind, ofExactText, relaxedJson } from "./extended-json.js";

/** The kind of a Binary. */
const UUID = 4;

/** What a feed publishes, unless it is given a map. */
export interface CollectionChange {
  readonly op: "insert" | "update" | "replace" | "delete";
  /** The document's `_id` as text: also the event's key. */
  readonly id: string;
  readonly collection: string;
  /** The document after the change, as far as it is known; null once it is gone. */
  readonly document: JsonObject | null;
  /** The document before the change, where the collection keeps pre-images. */
  readonly before?: JsonObject;
  /** Of an update: fields that were set, and names of those that were removed. */
  readonly updated?: JsonObject;
  readonly removed?: readonly string[];
  /** Beside `document: null`, so that projections and compaction take it for the tombstone it is. */
  readonly _deleted?: true;
  /** It was found by a scan, after the feed had lost its place. */
  readonly reconciled?: true;
}

/** A change with all that is needed to publish it and to remember it. */
export interface FeedEntry {
  readonly eventId: string;
  readonly ts: number;
  readonly change: CollectionChange;
  /** The document's `_id`, exactly. */
  readonly exactId: string;
  /** Of the document after the change; null once it is gone. */
  readonly digest: string | null;
}

export interface Naming {
  /** Of the feed: makes its ids differ from those of another feed on the same collection. */
  readonly feed: string;
  readonly collection: string;
  /** Documents as lossless extended JSON instead of plain JSON. */
  readonly extendedJson: boolean;
}

type RowChange = Extract<ChangeStreamDocument, { operationType: "insert" | "update" | "replace" | "delete" }>;

export function isRowChange(change: ChangeStreamDocument): change is RowChange {
  return ["insert", "update", "replace", "delete"].includes(change.operationType);
}

/** `current`: the document as it stands, for an update that came without it. */
export function entryOf(change: RowChange, current: Document | null, naming: Naming): FeedEntry {
  const after = change.operationType === "delete" ? null : (change.fullDocument ?? current);
  const before = "fullDocumentBeforeChange" in change ? change.fullDocumentBeforeChange : undefined;
  return {
    eventId: derivedId(naming.feed, String((change._id as { _data?: unknown })._data), 0),
    ts: change.wallTime?.getTime() ?? (change.clusterTime?.getHighBitsUnsigned() ?? 0) * 1_000,
    change: {
      op: change.operationType,
      id: textOfId(change.documentKey._id),
      collection: naming.collection,
      document: after === null ? null : jsonOf(after, naming),
      ...(before && { before: jsonOf(before, naming) }),
      ...(change.operationType === "update" && {
        updated: jsonOf(change.updateDescription.updatedFields ?? {}, naming),
        removed: change.updateDescription.removedFields ?? [],
      }),
      ...(after === null && { _deleted: true }),
    },
    exactId: exactId(change.documentKey._id),
    digest: after === null ? null : digestOf(after),
  };
}

/** What a scan found: `known` says what was last published of the document. */
export function foundEntry(
  id: unknown,
  document: Document | null,
  known: boolean,
  scan: { readonly run: number; readonly nowMs: number },
  naming: Naming,
): FeedEntry {
  const digest = document === null ? null : digestOf(document);
  return {
    eventId: derivedId(naming.feed, exactId(id), `scan ${scan.run} ${digest ?? "gone"}`),
    ts: scan.nowMs,
    change: {
      op: document === null ? "delete" : known ? "replace" : "insert",
      id: textOfId(id),
      collection: naming.collection,
      document: document === null ? null : jsonOf(document, naming),
      ...(document === null && { _deleted: true }),
      reconciled: true,
    },
    exactId: exactId(id),
    digest,
  };
}

/** For people and for order by key. Different ids of different types may, in theory, share it. */
export function textOfId(id: unknown): string {
  const plain = plainJson(id);
  const text = typeof plain === "string" ? plain : JSON.stringify(plain);
  return text.length <= 300 && text.length > 0 ? text : `sha256:${hash(text)}`;
}

/** Unlike its text, never the same for two ids, and can be turned back. */
export function exactId(id: unknown): string {
  return exactText({ id });
}

export function idOfExact(text: string): unknown {
  return (ofExactText(text) as { readonly id: unknown }).id;
}

export function digestOf(document: Document): string {
  return digestOfText(exactText(document));
}

export function digestOfText(exact: string): string {
  return hash(exact).slice(0, 32);
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

function jsonOf(document: Document, naming: Naming): JsonObject {
  return (naming.extendedJson ? relaxedJson(document) : plainJson(document)) as JsonObject;
}

/** As people write it: ids in hex, times in ISO form, numbers as numbers where they fit, bytes in base64. */
export function plainJson(value: unknown): JsonValue {
  if (value === null || value === undefined) return null;
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return value.map(plainJson);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (typeof value !== "object") return String(value);
  if (isKind(value)) return plainBson(value);
  // fromEntries defines members, so that `__proto__` is one like any other.
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainJson(member)]));
}

/** Told apart by the names of their kinds: they come from the caller's copy of the driver, whose classes are not ours. */
type Bson = ObjectId | Timestamp | Long | Binary | BSONRegExp | { readonly _bsontype: "any other" };

function plainBson(given: object): JsonValue {
  const value = given as Bson;
  switch (value._bsontype) {
    case "ObjectId":
      return value.toHexString();
    case "Timestamp":
      return { t: value.getHighBitsUnsigned(), i: value.getLowBitsUnsigned() };
    case "Long": {
      const number = value.toNumber();
      return Number.isSafeInteger(number) ? number : value.toString();
    }
    case "Binary":
      return value.sub_type === UUID ? value.toUUID().toHexString() : value.toString("base64");
    case "BSONRegExp":
      return `/${value.pattern}/${value.options}`;
  }
  const primitive: unknown = given.valueOf();
  if (typeof primitive === "number" || typeof primitive === "string") return plainJson(primitive);
  const serialized = relaxedJson(given) as JsonObject;
  const [only, ...others] = Object.values(serialized);
  return others.length === 0 && typeof only === "string" ? only : serialized;
}
