/**
 * The outbox as a table, over any SQLite handle: in the store's own file, or in the caller's database. Each verb is one
 * statement, hence atomic by itself and part of the caller's transaction if there is one (P10).
 *
 * Handles differ: parameters are plain question marks (some take numbered ones for names), and never a single
 * value that could be taken for an object of named ones.
 */
import { BusError } from "../../model/errors.js";
import { canonicalText, jsonBody } from "../../model/json.js";
import type {
  ClaimOptions,
  OutboxClaim,
  OutboxEntry,
  OutboxFailure,
  OutboxRow,
  OutboxStats,
  OutboxStatus,
} from "../../ports/outbox.js";
import { retryAtMs, SET_BACK_MS } from "../../ports/outbox-arguments.js";
import type { Row, SqlValue } from "./sqlite.js";

/**
 * `at_ms`: end of the lease while claimed, earliest next try while pending, time of sending once sent. `token` begins with how
 * long the lease is; of an entry that waits for its next try it is no more than how long that is.
 */
export const OUTBOX_TABLE = `
  CREATE TABLE IF NOT EXISTS promethean_outbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    key TEXT,
    entry TEXT NOT NULL,
    status TEXT NOT NULL,
    failures INTEGER NOT NULL,
    error TEXT,
    token TEXT,
    at_ms INTEGER NOT NULL,
    added_ms INTEGER NOT NULL
  );
  CREATE INDEX IF NOT EXISTS promethean_outbox_unsent
    ON promethean_outbox (number, status, at_ms) WHERE status <> 'sent';
  CREATE INDEX IF NOT EXISTS promethean_outbox_keys
    ON promethean_outbox (key, number, status, at_ms) WHERE status <> 'sent' AND key IS NOT NULL;
  CREATE INDEX IF NOT EXISTS promethean_outbox_sent
    ON promethean_outbox (at_ms) WHERE status = 'sent';
`;

/** Beside the counts, under the name of a status that there is none of: when the oldest that was not sent was added. */
const OLDEST = "oldest";
const COUNTS = `
  SELECT status, count(*) FROM promethean_outbox WHERE status <> 'sent' GROUP BY status
  UNION ALL SELECT 'sent', count(*) FROM promethean_outbox WHERE status = 'sent'
  UNION ALL SELECT * FROM (SELECT '${OLDEST}', added_ms FROM promethean_outbox WHERE status <> 'sent' ORDER BY number LIMIT 1)`;

/** The lease or the wait is over; also if it began later than now, on a clock that was set back since. Takes `overAt`. */
function isOver(row: string): string {
  const length = `coalesce(CAST(${row}.token AS INTEGER), ${row}.at_ms)`;
  return `(${row}.at_ms <= ? OR ${row}.at_ms - ${length} > ?)`;
}

/** Also of what has no end. */
function bounded(ms: number): number {
  return Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER);
}

function overAt(nowMs: number): [number, number] {
  return [nowMs, nowMs + SET_BACK_MS];
}

/** Runs one statement. */
export interface SqlRunner {
  /** Returns how many rows changed. */
  run(text: string, values: readonly SqlValue[]): number;
  all(text: string, values: readonly SqlValue[]): readonly Row[];
}

export class OutboxTable {
  readonly #sql: SqlRunner;

  constructor(sql: SqlRunner) {
    this.#sql = sql;
  }

  /** True if it is new; the same content again is harmless. */
  add(entry: OutboxEntry, nowMs: number): boolean {
    const text = entryText(entry);
    const added = this.#sql.run(
      `INSERT INTO promethean_outbox (id, key, entry, status, failures, at_ms, added_ms)
       VALUES (?, ?, ?, 'pending', 0, 0, ?) ON CONFLICT (id) DO NOTHING`,
      [entry.id, entry.key ?? null, text, nowMs],
    );
    if (added > 0) return true;
    const known = this.#sql.all("SELECT entry FROM promethean_outbox WHERE id = ? AND number > ?", [
      entry.id,
      0,
    ])[0];
    if (known === undefined || !saysTheSame(entryOf(known[0]), JSON.parse(text))) {
      throw new BusError("ID_CONFLICT", `the outbox holds another entry with id "${entry.id}"`, {
        details: { id: entry.id },
      });
    }
    return false;
  }

  /**
   * An entry waits while an earlier one of its key is unsent and cannot go along with it. `claim` is never used again: with
   * the entry's number it makes the token.
   */
  claim(count: number, claim: string, o: ClaimOptions): OutboxClaim[] {
    const rows = this.#sql.all(
      `UPDATE promethean_outbox SET status = 'claimed', token = ? || '/' || number, at_ms = ? WHERE number IN (
         SELECT o.number FROM promethean_outbox o
         WHERE o.status <> 'sent' AND o.status = 'pending' AND ${isOver("o")} AND NOT EXISTS (
           SELECT 1 FROM promethean_outbox e
           WHERE e.status <> 'sent' AND e.key IS NOT NULL AND e.key = o.key AND e.number < o.number
           AND NOT (e.status = 'pending' AND ${isOver("e")}))
         ORDER BY o.number LIMIT ?)
       RETURNING number, entry, failures, token, error`,
      [
        `${bounded(o.leaseMs)}/${claim}`,
        bounded(o.nowMs + o.leaseMs),
        ...overAt(o.nowMs),
        ...overAt(o.nowMs),
        count,
      ],
    );
    return [...rows]
      .sort((a, b) => Number(a[0]) - Number(b[0]))
      .map(([, entry, failures, token, error]) => ({
        ...entryOf(entry),
        token: String(token),
        failures: Number(failures),
        ...(error !== null && { error: String(error) }),
      }));
  }

  markSent(id: string, token: string, nowMs: number): boolean {
    return (
      this.#sql.run(
        `UPDATE promethean_outbox SET status = 'sent', token = NULL, at_ms = ?
         WHERE id = ? AND token = ? AND status = 'claimed'`,
        [nowMs, id, token],
      ) > 0
    );
  }

  markError(id: string, token: string, o: Required<OutboxFailure>): boolean {
    const failures = o.counts ? 1 : 0;
    const wait = o.retryAfterMs > 0 ? String(bounded(o.retryAfterMs)) : null;
    return (
      this.#sql.run(
        `UPDATE promethean_outbox SET status = ?, failures = failures + ?, error = CASE WHEN ? THEN ? ELSE error END,
           token = ?, at_ms = ?
         WHERE id = ? AND token = ? AND status = 'claimed'`,
        [o.dead ? "dead" : "pending", failures, failures, o.error, wait, bounded(retryAtMs(o)), id, token],
      ) > 0
    );
  }

  requeueExpired(nowMs: number): number {
    return this.#sql.run(
      `UPDATE promethean_outbox AS o SET status = 'pending', token = NULL, at_ms = ?
       WHERE status <> 'sent' AND status = 'claimed' AND ${isOver("o")}`,
      [0, ...overAt(nowMs)],
    );
  }

  requeueDead(ids: readonly string[] | undefined): number {
    return this.#sql.run(
      `UPDATE promethean_outbox SET status = 'pending', token = NULL, at_ms = ?, failures = 0, error = NULL
       WHERE status <> 'sent' AND status = 'dead' AND (? OR id IN (SELECT value FROM json_each(?)))`,
      [0, ids === undefined ? 1 : 0, JSON.stringify(ids ?? [])],
    );
  }

  discardDead(ids: readonly string[]): number {
    return this.#sql.run(
      `DELETE FROM promethean_outbox
       WHERE status <> 'sent' AND status = ? AND id IN (SELECT value FROM json_each(?))`,
      ["dead", JSON.stringify(ids)],
    );
  }

  purge(sentBeforeMs: number): number {
    return this.#sql.run("DELETE FROM promethean_outbox WHERE status = 'sent' AND at_ms < ? AND number > ?", [
      sentBeforeMs,
      0,
    ]);
  }

  /** By indexes alone: this may be asked in the caller's event loop, and entries that were sent may be kept by the million. */
  stats(): OutboxStats {
    const counts: Record<OutboxStatus, number> = { pending: 0, claimed: 0, sent: 0, dead: 0 };
    const rows = this.#sql.all(COUNTS, []);
    let oldestMs: number | null = null;
    for (const [status, count] of rows) {
      if (status === OLDEST) oldestMs = Number(count);
      else counts[status as OutboxStatus] = Number(count);
    }
    return { ...counts, oldestMs };
  }

  /** Those that were sent are passed by in the index, however many are kept. */
  list({ status, limit }: { status: OutboxStatus; limit: number }): OutboxRow[] {
    const unsent = status === "sent" ? "" : "status <> 'sent' AND";
    return this.#sql
      .all(
        `SELECT entry, failures, error, added_ms FROM promethean_outbox WHERE ${unsent} status = ?
         ORDER BY number LIMIT ?`,
        [status, limit],
      )
      .map(([entry, failures, error, addedMs]) => ({
        ...entryOf(entry),
        status,
        failures: Number(failures),
        addedMs: Number(addedMs),
        ...(error === null ? undefined : { error: String(error) }),
      }));
  }
}

function entryText(entry: OutboxEntry): string {
  return jsonBody(entry).text;
}

function entryOf(text: unknown): OutboxEntry {
  return JSON.parse(String(text)) as OutboxEntry;
}

/** Topic, key and payload count, as they do in the log (P3). */
function saysTheSame(a: OutboxEntry, b: OutboxEntry): boolean {
  return a.topic === b.topic && a.key === b.key && canonicalText(a.payload) === canonicalText(b.payload);
}
