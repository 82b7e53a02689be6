/**
 * Read models: views of versioned JSON documents, and the one commit that ties them to a cursor (P9).
 *
 * Within a view the version of a key only grows. A write with a version not above the present one is stale: it
 * changes nothing and is counted. A delete leaves a versioned tombstone, so that a late update cannot bring the
 * document back; tombstones are invisible to readers and go away by `purge`.
 */
import type { JsonObject } from "../model/json.js";
import type { CursorWrite } from "./groups.js";

/** A document of a view, with its version. */
export interface ViewDocument {
  readonly key: string;
  readonly version: number;
  /** ts of the event behind it. */
  readonly ts: number;
  readonly fields: JsonObject;
}

/** An index of a view. */
export interface ViewIndex {
  /** Field paths with direction, in order: `{ host: 1, name: 1 }`; a dot enters a nested object. */
  readonly keys: Readonly<Record<string, 1 | -1>>;
  /** A second document with the same values is a WRITE_CONFLICT. Documents that lack one of the fields do not count. */
  readonly unique?: boolean;
}

interface WriteBase {
  readonly key: string;
  readonly ts: number;
  /** Absent: one above the present version, so never stale. */
  readonly version?: number;
  /** The version that must be present (null: no document) for the whole call to succeed; else WRITE_CONFLICT. */
  readonly expected?: number | null;
}

/** Writes of one call apply in order. */
export type DocumentWrite =
  /** The document becomes `fields`. */
  | (WriteBase & { readonly op: "upsert"; readonly fields: JsonObject })
  | (WriteBase & { readonly op: "delete" })
  /** Adds to top-level fields, whose names are data; absent documents, and fields that are no number, start at 0. */
  | (WriteBase & { readonly op: "increment"; readonly by: Readonly<Record<string, number>> });

/** How many writes counted, and how many came too late. */
export interface WriteResult {
  readonly applied: number;
  readonly stale: number;
}

/** What a field is compared with. */
export type FieldValue = string | number | boolean | null;

/**
 * All given conditions hold. Values are compared as data, never interpreted: null is not missing, true is not 1, an
 * array equals no single value. `ne` is the opposite of `eq`. Ordered ones match only their own type.
 */
export interface FieldCondition {
  readonly eq?: FieldValue;
  readonly ne?: FieldValue;
  readonly in?: readonly FieldValue[];
  readonly gt?: string | number;
  readonly gte?: string | number;
  readonly lt?: string | number;
  readonly lte?: string | number;
  readonly prefix?: string;
  readonly exists?: boolean;
}

/** Which documents of a view are wanted, in which order. */
export interface DocumentQuery {
  /** By field path (a dot enters an object, never an array); a bare value means `eq`. `_key` is the document's key. */
  readonly where?: Readonly<Record<string, FieldValue | FieldCondition>>;
  /**
   * Default: by key, ascending. Ties are broken by key, in the same direction; missing fields sort lowest, then null,
   * booleans, numbers, strings by code point.
   */
  readonly order?: { readonly field: string; readonly descending?: boolean };
  readonly limit: number;
  /** `next` of the page before; anything else is an INVALID_OPTION. */
  readonly after?: string;
}

/** Some documents of a query, and where to go on. */
export interface DocumentPage {
  readonly documents: readonly ViewDocument[];
  /** Where to go on, or null at the end. Opaque. Documents that keep their place are neither shown twice nor missed. */
  readonly next: string | null;
}

/** Documents of any views and the cursor that accounts for them: all or nothing, under the cursor's epoch (P7, P9). */
export interface Unit {
  readonly writes: readonly { readonly view: string; readonly writes: readonly DocumentWrite[] }[];
  readonly cursor?: CursorWrite;
  /**
   * Runs inside the transaction, perhaps several times, with the driver's own handle of it; what it answers is written
   * besides. Only where `nativeTransactions` is among the capabilities, else UNSUPPORTED.
   */
  readonly within?: (native: unknown) => Promise<Unit["writes"]>;
}

/** A view as it is listed. */
export interface ViewInfo {
  readonly view: string;
  readonly documents: number;
  readonly indexes: readonly ViewIndex[];
}

/** View names: `[a-z0-9-_.]+`, 120 bytes at most, checked by the caller. A view exists once written or defined. */
export interface Documents {
  /** Creates the view and these indexes if they are missing. */
  define(view: string, indexes: readonly ViewIndex[]): Promise<void>;
  /** Applies writes in bulk; atomic per document, in order per key. `expected` is for `transact`: INVALID_OPTION. */
  write(view: string, writes: readonly DocumentWrite[]): Promise<WriteResult>;
  /**
   * One commit. LEASE_LOST if the epoch is old, WRITE_CONFLICT if an `expected` fails (against what stands, the unit's
   * own earlier writes included) or a unique index does: then nothing changed. Without `transactions`: UNSUPPORTED.
   */
  transact(unit: Unit): Promise<WriteResult>;
  get(view: string, keys: readonly string[]): Promise<ReadonlyMap<string, ViewDocument>>;
  find(view: string, query: DocumentQuery): Promise<DocumentPage>;
  /** Sorted by name. */
  views(): Promise<readonly ViewInfo[]>;
  drop(view: string): Promise<void>;
  /** Removes tombstones whose ts is below `beforeTs`; returns how many. */
  purge(view: string, beforeTs: number): Promise<number>;
}
