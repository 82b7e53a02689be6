/**
 * Views in memory. A unit is applied write by write; the first one that fails undoes those before it, and since
 * nothing waits in between, nobody ever sees a part of it (P9).
 */
import { BusError } from "../../model/errors.js";
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
import { runQuery } from "./document-query.js";
import type { MemoryGroups } from "./groups.js";
import type { Lifetime } from "./lifetime.js";
import { compareText } from "./text-order.js";
import { type Row, rowAfter, View } from "./view.js";

/** What was there before a write. */
interface Undo {
  readonly view: View;
  readonly key: string;
  readonly row: Row | undefined;
}

export class MemoryDocuments implements Documents {
  readonly #lifetime: Lifetime;
  readonly #groups: MemoryGroups;
  readonly #views = new Map<string, View>();

  constructor(lifetime: Lifetime, groups: MemoryGroups) {
    this.#lifetime = lifetime;
    this.#groups = groups;
  }

  async define(view: string, indexes: readonly ViewIndex[]): Promise<void> {
    this.#lifetime.check();
    const defined = this.#ensure(view);
    for (const index of indexes) defined.addIndex(index);
  }

  async write(view: string, writes: readonly DocumentWrite[]): Promise<WriteResult> {
    this.#lifetime.check();
    if (writes.some((write) => write.expected !== undefined)) {
      throw new BusError("INVALID_OPTION", "`expected` is for transact; write does not compare");
    }
    return this.#apply([{ view, writes }]);
  }

  async transact(unit: Unit): Promise<WriteResult> {
    this.#lifetime.check();
    if (unit.within !== undefined)
      throw new BusError("UNSUPPORTED", "this store has no transactions that can be entered from outside");
    const { cursor } = unit;
    if (cursor !== undefined) this.#groups.check(cursor);
    const result = this.#apply(unit.writes);
    if (cursor !== undefined) this.#groups.store(cursor);
    return result;
  }

  async get(view: string, keys: readonly string[]): Promise<ReadonlyMap<string, ViewDocument>> {
    this.#lifetime.check();
    const found = new Map<string, ViewDocument>();
    for (const key of keys) {
      const document = this.#views.get(view)?.row(key)?.document;
      if (document !== undefined) found.set(key, document);
    }
    return found;
  }

  async find(view: string, query: DocumentQuery): Promise<DocumentPage> {
    this.#lifetime.check();
    return runQuery(this.#views.get(view)?.documents() ?? [], query);
  }

  async views(): Promise<readonly ViewInfo[]> {
    this.#lifetime.check();
    return [...this.#views.values()].map((v) => v.info).sort((a, b) => compareText(a.view, b.view));
  }

  async drop(view: string): Promise<void> {
    this.#lifetime.check();
    this.#views.delete(view);
  }

  async purge(view: string, beforeTs: number): Promise<number> {
    this.#lifetime.check();
    return this.#views.get(view)?.purge(beforeTs) ?? 0;
  }

  #apply(parts: Unit["writes"]): WriteResult {
    const undo: Undo[] = [];
    const absent = parts.filter(({ view }) => !this.#views.has(view));
    let stale = 0;
    try {
      for (const { view: name, writes } of parts) {
        const view = this.#ensure(name);
        for (const write of writes) {
          const before = view.row(write.key);
          checkExpected(view, write, before);
          const row = rowAfter(before, write);
          if (row === undefined) {
            stale++;
            continue;
          }
          view.set(write.key, row);
          undo.push({ view, key: write.key, row: before });
        }
      }
    } catch (error) {
      for (const { view, key, row } of undo.reverse()) view.set(key, row);
      for (const { view } of absent) this.#views.delete(view);
      throw error;
    }
    return { applied: undo.length, stale };
  }

  #ensure(name: string): View {
    let view = this.#views.get(name);
    if (view === undefined) {
      view = new View(name);
      this.#views.set(name, view);
    }
    return view;
  }
}

function checkExpected(view: View, write: DocumentWrite, present: Row | undefined): void {
  if (write.expected === undefined) return;
  const version = present?.document?.version ?? null;
  if (version === write.expected) return;
  throw new BusError(
    "WRITE_CONFLICT",
    `document "${write.key}" of view "${view.name}" is at version ${version}, not at ${write.expected}`,
    { details: { view: view.name, key: write.key, version } },
  );
}
