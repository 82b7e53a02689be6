/**
 * An outbox in the caller's own SQLite database, written in the caller's own transaction (P10). Works on any handle of
 * the better-sqlite3 shape: better-sqlite3 itself, libsql, node:sqlite.
 */
import { randomUUID } from "node:crypto";
import { BusError } from "../../model/errors.js";
import type {
  ClaimOptions,
  OutboxClaim,
  OutboxEntry,
  OutboxFailure,
  OutboxRow,
  OutboxStats,
  OutboxStatus,
  OutboxStore,
} from "../../ports/outbox.js";
import { checkAddOptions, checkEntry, claimOptions, failureOf } from "../../ports/outbox-arguments.js";
import { OUTBOX_TABLE, OutboxTable } from "./outbox-table.js";
import type { Row, SqlValue } from "./sqlite.js";

/** What is needed of the caller's database handle. */
export interface SqliteHandle {
  prepare(text: string): {
    run(...values: SqlValue[]): { readonly changes: number | bigint };
    all(...values: SqlValue[]): readonly unknown[];
  };
  exec(text: string): unknown;
  /** better-sqlite3 and libsql. */
  readonly inTransaction?: boolean;
  /** node:sqlite. */
  readonly isTransaction?: boolean;
}

/**
 * An outbox in a SQLite database of yours: what is added in a transaction is published if that commits (P10).
 *
 * @example
 * const outbox = new SqliteOutbox(db);
 * db.transaction(() => {
 *   db.prepare("INSERT INTO orders VALUES (?)").run(order.id);
 *   outbox.add({ id: order.id, topic: "orders.placed", payload: order });
 * })();
 */
export class SqliteOutbox implements OutboxStore {
  readonly #handle: SqliteHandle;
  readonly #table: OutboxTable;
  readonly #wakers = new Set<() => void>();

  /** Creates its table if it is missing. */
  constructor(handle: SqliteHandle) {
    if (typeof handle?.exec !== "function" || typeof handle.prepare !== "function")
      throw new BusError("INVALID_OPTION", "SqliteOutbox needs an open database: new SqliteOutbox(db)");
    this.#handle = handle;
    handle.exec(OUTBOX_TABLE);
    this.#table = new OutboxTable({
      run: (text, values) => Number(handle.prepare(text).run(...values).changes),
      // Rows come as objects from some handles and as arrays from none: their values are in column order.
      all: (text, values) =>
        handle
          .prepare(text)
          .all(...values)
          .map((row) => Object.values(row as Record<string, SqlValue>) as Row),
    });
  }

  /**
   * Done when it returns: a fault is thrown at once, not by the promise, so that it ends the caller's transaction
   * even where nobody awaits.
   */
  add(entry: OutboxEntry, o: { nowMs?: number } = {}): Promise<void> {
    checkEntry(entry);
    checkAddOptions(o);
    this.#table.add(entry, o.nowMs ?? Date.now());
    this.#wake();
    return Promise.resolve();
  }

  /** Nothing while the handle is inside a transaction: what it holds may yet be rolled back. */
  async claimBatch(count: number, given?: Partial<ClaimOptions>): Promise<readonly OutboxClaim[]> {
    const o = claimOptions(count, given);
    if (this.#handle.inTransaction ?? this.#handle.isTransaction) return [];
    return this.#table.claim(count, `${o.owner}/${randomUUID()}`, o);
  }

  async markSent(id: string, token: string, o: { nowMs?: number } = {}): Promise<boolean> {
    return this.#table.markSent(id, token, o.nowMs ?? Date.now());
  }

  async markError(id: string, token: string, o: string | OutboxFailure): Promise<boolean> {
    return this.#table.markError(id, token, failureOf(o));
  }

  async requeueExpired(nowMs = Date.now()): Promise<number> {
    return this.#table.requeueExpired(nowMs);
  }

  async requeueDead(ids?: readonly string[]): Promise<number> {
    const requeued = this.#table.requeueDead(ids);
    if (requeued > 0) this.#wake();
    return requeued;
  }

  async discardDead(ids: readonly string[]): Promise<number> {
    const discarded = this.#table.discardDead(ids);
    if (discarded > 0) this.#wake();
    return discarded;
  }

  async purge(sentBeforeMs: number): Promise<number> {
    return this.#table.purge(sentBeforeMs);
  }

  async stats(): Promise<OutboxStats> {
    return this.#table.stats();
  }

  async list({
    status,
    limit = 100,
  }: {
    status: OutboxStatus;
    limit?: number;
  }): Promise<readonly OutboxRow[]> {
    return this.#table.list({ status, limit });
  }

  /** Tells of entries added through this object; those of other processes are found by polling. */
  watch(wake: () => void): () => void {
    const own = (): void => wake();
    this.#wakers.add(own);
    return () => void this.#wakers.delete(own);
  }

  /** After the present turn of the event loop: by then a synchronous transaction is over. */
  #wake(): void {
    if (this.#wakers.size === 0) return;
    setImmediate(() => {
      for (const wake of [...this.#wakers]) wake();
    });
  }
}
