/**
 * One view: its rows with their versions, tombstones among them, and its unique indexes. Invariant: a row is set only
 * if no unique index forbids it, and setting the row that was there before undoes a change.
 */
import { BusError } from "../../model/errors.js";
import { type JsonObject, type JsonValue, jsonBody } from "../../model/json.js";
import type { DocumentWrite, ViewDocument, ViewIndex, ViewInfo } from "../../ports/documents.js";
import { valueAt } from "./field-order.js";

/** Without fields: a tombstone. */
export interface Row {
  readonly version: number;
  readonly ts: number;
  readonly document: ViewDocument | undefined;
}

interface UniqueIndex {
  readonly paths: readonly string[];
  /** Which key has these values. */
  readonly keys: Map<string, string>;
}

export class View {
  readonly name: string;
  readonly #rows = new Map<string, Row>();
  readonly #indexes: ViewIndex[] = [];
  readonly #unique: UniqueIndex[] = [];
  #documents = 0;

  constructor(name: string) {
    this.name = name;
  }

  get info(): ViewInfo {
    return { view: this.name, documents: this.#documents, indexes: [...this.#indexes] };
  }

  row(key: string): Row | undefined {
    return this.#rows.get(key);
  }

  *documents(): Generator<ViewDocument> {
    for (const { document } of this.#rows.values()) if (document !== undefined) yield document;
  }

  addIndex(index: ViewIndex): void {
    const text = JSON.stringify(index.keys);
    if (this.#indexes.some((i) => JSON.stringify(i.keys) === text && !i.unique === !index.unique)) return;
    if (index.unique) this.#unique.push(this.#uniqueIndex(Object.keys(index.keys)));
    this.#indexes.push(Object.freeze({ ...index, keys: Object.freeze({ ...index.keys }) }));
  }

  /** Puts a row in place of the present one; undefined takes it away. WRITE_CONFLICT if a unique index forbids it. */
  set(key: string, row: Row | undefined): void {
    const present = this.#rows.get(key);
    const entries = this.#unique.map((index) => ({ index, values: valuesText(index, row?.document) }));
    for (const { index, values } of entries) {
      if (values !== undefined && (index.keys.get(values) ?? key) !== key) this.#refuse(index, key);
    }
    for (const { index, values } of entries) {
      const before = valuesText(index, present?.document);
      if (before !== undefined) index.keys.delete(before);
      if (values !== undefined) index.keys.set(values, key);
    }
    this.#documents += Number(row?.document !== undefined) - Number(present?.document !== undefined);
    if (row === undefined) this.#rows.delete(key);
    else this.#rows.set(key, row);
  }

  purge(beforeTs: number): number {
    let purged = 0;
    for (const [key, row] of this.#rows) {
      if (row.document === undefined && row.ts < beforeTs && this.#rows.delete(key)) purged++;
    }
    return purged;
  }

  #uniqueIndex(paths: readonly string[]): UniqueIndex {
    const index: UniqueIndex = { paths, keys: new Map() };
    for (const document of this.documents()) {
      const values = valuesText(index, document);
      if (values === undefined) continue;
      if (index.keys.has(values)) this.#refuse(index, document.key);
      index.keys.set(values, document.key);
    }
    return index;
  }

  #refuse(index: UniqueIndex, key: string): never {
    throw new BusError(
      "WRITE_CONFLICT",
      `document "${key}" has the same ${index.paths.join(", ")} as another one of view "${this.name}"`,
      { retryable: false, details: { view: this.name, key, fields: index.paths } },
    );
  }
}

/** A document that lacks one of the fields is not held to the index. */
function valuesText(index: UniqueIndex, document: ViewDocument | undefined): string | undefined {
  if (document === undefined) return undefined;
  const values = index.paths.map((path) => valueAt(document.fields, path));
  return values.includes(undefined) ? undefined : JSON.stringify(values);
}

/** The row that a write makes of the present one, or undefined if the write is stale. */
export function rowAfter(present: Row | undefined, write: DocumentWrite): Row | undefined {
  const version = write.version ?? (present?.version ?? 0) + 1;
  if (present !== undefined && version <= present.version) return undefined;
  const { key, ts } = write;
  if (write.op === "delete") return { version, ts, document: undefined };
  const fields = write.op === "upsert" ? write.fields : incremented(present?.document?.fields, write.by);
  return { version, ts, document: Object.freeze({ key, version, ts, fields: frozenCopy(fields) }) };
}

function incremented(fields: JsonObject | undefined, by: Readonly<Record<string, number>>): JsonObject {
  const sums = new Map<string, JsonValue>(Object.entries(fields ?? {}));
  for (const [name, amount] of Object.entries(by)) {
    const present = sums.get(name);
    sums.set(name, (typeof present === "number" ? present : 0) + amount);
  }
  // fromEntries defines members, so that `__proto__` is one like any other.
  return Object.fromEntries(sums);
}

function frozenCopy(fields: JsonObject): JsonObject {
  return jsonBody(fields).value as JsonObject;
}
