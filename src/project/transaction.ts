/** Writes of a transactional projector, gathered until its commit. Reads see the writes that came before them. */
import { BusError } from "../model/errors.js";
import type { JsonObject } from "../model/json.js";
import type { Documents, DocumentWrite, Unit, ViewDocument } from "../ports/documents.js";
import { checkViewName, toRecord, type ViewRecord } from "./view.js";

export interface TransactionView {
  get<T = JsonObject>(key: string): Promise<ViewRecord<T> | null>;
  /** The document becomes `fields`. */
  upsert(key: string, fields: object): Promise<void>;
  delete(key: string): Promise<void>;
  /** Adds to numeric fields; what is absent starts at 0. */
  inc(key: string, by: Readonly<Record<string, number>>): Promise<void>;
}

export interface Transaction {
  view(name: string): TransactionView;
  /**
   * On MongoDB, of a projector that asked for it: the ClientSession of the transaction that commits the views and the
   * cursor. What is written with it is committed with them, or not at all.
   */
  readonly session?: unknown;
}

/** A document as the transaction sees it: null if it is not there. */
type Seen = ViewDocument | null;

export class GatheredWrites implements Transaction {
  readonly #documents: Documents;
  readonly #ts: number;
  readonly #writes = new Map<string, DocumentWrite[]>();
  readonly #seen = new Map<string, Seen>();

  readonly session?: unknown;

  constructor(documents: Documents, ts: number, session?: unknown) {
    this.#documents = documents;
    this.#ts = ts;
    if (session !== undefined) this.session = session;
  }

  get writes(): Unit["writes"] {
    return [...this.#writes].map(([view, writes]) => ({ view, writes }));
  }

  /** What the writes would change, document by document. */
  async differences(): Promise<
    { view: string; key: string; before: JsonObject | null; after: JsonObject | null }[]
  > {
    const differences = [];
    for (const [view, writes] of this.#writes) {
      for (const key of new Set(writes.map((write) => write.key))) {
        const before = (await this.#documents.get(view, [key])).get(key) ?? null;
        const after = writes
          .filter((write) => write.key === key)
          .reduce<Seen>((document, write) => this.#after(document, write), before);
        differences.push({ view, key, before: before?.fields ?? null, after: after?.fields ?? null });
      }
    }
    return differences;
  }

  view(name: string): TransactionView {
    checkViewName(name);
    return {
      get: async <T>(key: string) => {
        const seen = await this.#read(name, key);
        return seen === null ? null : toRecord<T>(seen);
      },
      upsert: async (key, fields) => {
        const copy = { ...fields } as JsonObject;
        this.#write(name, { op: "upsert", key, ts: this.#ts, fields: copy }, () => copy);
      },
      delete: async (key) => this.#write(name, { op: "delete", key, ts: this.#ts }, () => null),
      inc: async (key, by) => {
        checkNumbers(by);
        this.#write(name, { op: "increment", key, ts: this.#ts, by }, (fields) => added(fields, by));
      },
    };
  }

  async #read(view: string, key: string): Promise<Seen> {
    const slot = `${view}\n${key}`;
    const seen = this.#seen.get(slot);
    if (seen !== undefined) return seen;
    const found = (await this.#documents.get(view, [key])).get(key) ?? null;
    // Increments that were written before the first read count in what it sees.
    const earlier = (this.#writes.get(view) ?? []).filter((write) => write.key === key);
    const now = earlier.reduce<Seen>((document, write) => this.#after(document, write), found);
    this.#seen.set(slot, now);
    if (earlier.length === 0) this.#expect(view, key, found);
    return now;
  }

  /** The first write after a read must find what was read, or the whole transaction is run again. */
  readonly #expected = new Map<string, number | null>();
  #expect(view: string, key: string, found: Seen): void {
    this.#expected.set(`${view}\n${key}`, found?.version ?? null);
  }

  #write(view: string, write: DocumentWrite, change: (fields: JsonObject) => JsonObject | null): void {
    const slot = `${view}\n${write.key}`;
    const expected = this.#expected.get(slot);
    this.#expected.delete(slot);
    const list = this.#writes.get(view) ?? [];
    list.push(expected === undefined ? write : { ...write, expected });
    this.#writes.set(view, list);
    const seen = this.#seen.get(slot);
    if (seen === undefined) return;
    const fields = change(seen?.fields ?? {});
    this.#seen.set(
      slot,
      fields && { key: write.key, version: (seen?.version ?? 0) + 1, ts: this.#ts, fields },
    );
  }

  #after(document: Seen, write: DocumentWrite): Seen {
    const version = (document?.version ?? 0) + 1;
    switch (write.op) {
      case "upsert":
        return { key: write.key, version, ts: this.#ts, fields: write.fields };
      case "delete":
        return null;
      case "increment":
        return { key: write.key, version, ts: this.#ts, fields: added(document?.fields ?? {}, write.by) };
    }
  }
}

function added(fields: JsonObject, by: Readonly<Record<string, number>>): JsonObject {
  const sums = Object.entries(by).map(([name, n]) => [
    name,
    (typeof fields[name] === "number" ? fields[name] : 0) + n,
  ]);
  return { ...fields, ...Object.fromEntries(sums) };
}

function checkNumbers(by: Readonly<Record<string, number>>): void {
  for (const [name, n] of Object.entries(by)) {
    if (typeof n !== "number" || !Number.isFinite(n))
      throw new BusError("INVALID_OPTION", `inc: ${name} must be a number`);
  }
}
