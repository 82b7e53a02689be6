/** Writes of a transactional projector, gathered until its commit. Reads see the writes that came before them. */
import { addToList } from "../../model/add-to-list.js";
import { BusError } from "../../model/errors.js";
import { type JsonObject, jsonBody } from "../../model/json.js";
import type { Documents, DocumentWrite, Unit, ViewDocument } from "../../ports/documents.js";
import { checkKeptName, toRecord, type ViewRecord } from "./view.js";

/** A view inside of a transaction: what is written is committed with the position of the projector (P9). */
export interface TransactionView {
  get<T = JsonObject>(key: string): Promise<ViewRecord<T> | null>;
  /** The document becomes `fields`. */
  upsert(key: string, fields: object): Promise<void>;
  delete(key: string): Promise<void>;
  /** Adds to numeric fields; what is absent starts at 0. */
  inc(key: string, by: Readonly<Record<string, number>>): Promise<void>;
}

/** What the handler of a transactional projector writes with. Nothing of it stays if the handler fails. */
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

/** Under which table a view is kept. */
export type TableOf = (view: string) => Promise<string>;

export interface TransactionOptions {
  readonly tableOf: TableOf;
  /** Time of the writes. */
  readonly ts: number;
  readonly session?: unknown;
  /** Transactions whose commits are under way: what they write cannot be read before they are done. */
  readonly after?: readonly UnderWay[];
}

interface UnderWay {
  readonly writes: GatheredWrites;
  readonly done: Promise<unknown>;
}

export class GatheredWrites implements Transaction {
  readonly #documents: Documents;
  readonly #tableOf: TableOf;
  readonly #ts: number;
  /** Let go of when they are over, or each transaction would keep all those before it. */
  readonly #after: Set<UnderWay>;
  readonly #views = new Map<string, GatheredView>();

  readonly session?: unknown;

  constructor(documents: Documents, { tableOf, ts, session, after = [] }: TransactionOptions) {
    this.#documents = documents;
    this.#tableOf = tableOf;
    this.#ts = ts;
    this.#after = new Set(after);
    for (const one of after) void one.done.finally(() => this.#after.delete(one));
    if (session !== undefined) this.session = session;
  }

  /** Names of the views that were written to. */
  get written(): string[] {
    return [...this.#views].filter(([, { writes }]) => writes.length > 0).map(([name]) => name);
  }

  /** What was written to other views than these is not to be committed. */
  keepOnly(views: (name: string) => boolean): void {
    for (const name of this.#views.keys()) if (!views(name)) this.#views.delete(name);
  }

  /** What is to be committed, by table. */
  async units(): Promise<Unit["writes"]> {
    const units: { view: string; writes: readonly DocumentWrite[] }[] = [];
    for (const name of this.written) {
      units.push({ view: await this.#tableOf(name), writes: this.#gathered(name).writes });
    }
    return units;
  }

  /** What the writes would change, document by document. */
  async differences(): Promise<
    { view: string; key: string; before: JsonObject | null; after: JsonObject | null }[]
  > {
    const differences = [];
    for (const [view, gathered] of this.#views) {
      for (const key of gathered.writtenKeys()) {
        const { before, after } = await gathered.change(key);
        differences.push({ view, key, before: before?.fields ?? null, after: after?.fields ?? null });
      }
    }
    return differences;
  }

  view(name: string): TransactionView {
    checkKeptName(name);
    return this.#gathered(name);
  }

  /** Whether this transaction changes a document. */
  touches(view: string, key: string): boolean {
    return this.#views.get(view)?.touches(key) ?? false;
  }

  #gathered(name: string): GatheredView {
    let view = this.#views.get(name);
    if (view === undefined) {
      view = new GatheredView(this.#ts, (key) => this.#stored(name, key));
      this.#views.set(name, view);
    }
    return view;
  }

  async #stored(view: string, key: string): Promise<Seen> {
    for (const { writes, done } of this.#after) if (writes.touches(view, key)) await done;
    return (await this.#documents.get(await this.#tableOf(view), [key])).get(key) ?? null;
  }
}

/** Writes to one view. */
class GatheredView implements TransactionView {
  /** In the order they came. */
  readonly writes: DocumentWrite[] = [];
  readonly #ts: number;
  readonly #stored: (key: string) => Promise<Seen>;
  readonly #byKey = new Map<string, DocumentWrite[]>();
  readonly #seen = new Map<string, Seen>();
  /** The first write after a read must find what was read, or the whole transaction is run again. */
  readonly #expected = new Map<string, number | null>();

  constructor(ts: number, stored: (key: string) => Promise<Seen>) {
    this.#ts = ts;
    this.#stored = stored;
  }

  // Functions of their own, so that a handler may take them out of the view.
  readonly get = async <T>(key: string): Promise<ViewRecord<T> | null> => {
    checkKey(key);
    const seen = await this.#read(key);
    return seen === null ? null : toRecord<T>(seen);
  };

  readonly upsert = async (key: string, fields: object): Promise<void> => {
    checkKey(key);
    this.#write({ op: "upsert", key, ts: this.#ts, fields: documentOf(fields) });
  };

  readonly delete = async (key: string): Promise<void> => {
    checkKey(key);
    this.#write({ op: "delete", key, ts: this.#ts });
  };

  readonly inc = async (key: string, by: Readonly<Record<string, number>>): Promise<void> => {
    checkKey(key);
    checkNumbers(by);
    this.#write({ op: "increment", key, ts: this.#ts, by: { ...by } });
  };

  touches(key: string): boolean {
    return this.#byKey.has(key);
  }

  writtenKeys(): string[] {
    return [...this.#byKey.keys()];
  }

  /** A document as it is stored, and as the writes would leave it. */
  async change(key: string): Promise<{ before: Seen; after: Seen }> {
    const before = await this.#stored(key);
    const after = (this.#byKey.get(key) ?? []).reduce<Seen>(
      (seen, write) => this.#after(seen, write),
      before,
    );
    return { before, after };
  }

  async #read(key: string): Promise<Seen> {
    const seen = this.#seen.get(key);
    if (seen !== undefined) return seen;
    const { before, after } = await this.change(key);
    this.#seen.set(key, after);
    // Increments that were written before the first read count in what it sees, and expect nothing.
    if (!this.#byKey.has(key)) this.#expected.set(key, before?.version ?? null);
    return after;
  }

  #write(write: DocumentWrite): void {
    const { key } = write;
    const expected = this.#expected.get(key);
    if (expected !== undefined) this.#expected.delete(key);
    const gathered = expected === undefined ? write : { ...write, expected };
    this.writes.push(gathered);
    addToList(this.#byKey, key, gathered);
    const seen = this.#seen.get(key);
    if (seen !== undefined) this.#seen.set(key, this.#after(seen, write));
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

// What cannot be written is refused where the handler asks for it, not when everything is committed.

function checkKey(key: unknown): void {
  if (typeof key !== "string") throw new BusError("INVALID_OPTION", "the key of a document must be a string");
  if (!key.isWellFormed())
    throw new BusError("INVALID_OPTION", "the key of a document must not hold half of a surrogate pair");
}

/** A copy that nobody can change any more. */
function documentOf(fields: unknown): JsonObject {
  if (typeof fields !== "object" || fields === null || Array.isArray(fields))
    throw new BusError("INVALID_PAYLOAD", "a document must be an object");
  return jsonBody(fields).value as JsonObject;
}

function checkNumbers(by: Readonly<Record<string, number>>): void {
  if (typeof by !== "object" || by === null)
    throw new BusError("INVALID_OPTION", "inc takes an object of numbers");
  for (const name in by)
    if (!Number.isFinite(by[name])) throw new BusError("INVALID_OPTION", `inc: ${name} must be a number`);
}
