/**
 * The writing thread's work without the thread: takes a group of requests, runs them as one transaction, commits (which
 * syncs), and only then answers them all (P1). A request that fails is undone alone, by a savepoint; the others go on.
 *
 *   BEGIN IMMEDIATE · [SAVEPOINT · request · RELEASE | ROLLBACK TO]* · COMMIT
 *
 * Requests that refuse before they write anything, or not at all, need no savepoint: there is nothing to undo. Should
 * one of them fail halfway after all (the disk, the engine), the group begins again with a savepoint for each.
 *
 * Batches, entries of ids and states of partitions are gathered and written together (`#flush`): at the end of the group, and around every
 * savepoint, so that what is undone is always in the file.
 *
 * What is remembered between groups (heads, topics, leases, recent ids, documents) is dropped whenever it may be wrong: another
 * process has written, or something was rolled back.
 */
import { BusError, describeThrown } from "../../../model/errors.js";
import { AheadFile, aheadPath } from "../ahead/ahead-file.js";
import { joinAppends } from "../ahead/ahead-join.js";
import type { PromisedAppend } from "../ahead/ahead-record.js";
import { BatchWriter } from "../batches/batch-writer.js";
import { Batches } from "../batches/batches.js";
import { Partitions } from "../batches/partitions.js";
import { DocumentWriter } from "../documents/document-writer.js";
import { busError, isFull, isUncertain, packError } from "../errors.js";
import { IdWriter } from "../indexes/id-writer.js";
import { INDEX_SIZES } from "../indexes/index-merger.js";
import { KeyIndexWriter } from "../indexes/key-index-writer.js";
import { LeaseWriter } from "../lease-writer.js";
import { SheetFiler } from "../log/sheet-filer.js";
import { ProcessWatch } from "../process-identity.js";
import type { AheadStart, OperationName, Operations, Reply, Request, WriterOptions } from "../protocol.js";
import type { Connection, SqlValue } from "../sqlite.js";
import { Topics } from "../topics.js";
import type { UseLock } from "../use-lock.js";
import { operationsOf } from "./operations.js";
import { beginInTurn } from "./turn.js";
import { openForWriting } from "./writing-connection.js";

/** Bytes that are filed in one transaction, so that appends are not kept waiting. */
const FILE_SLICE_BYTES = 262_144;

/** What is asked with nearly every event: each of these throws a BusError only before its first write. */
const REFUSES_FIRST: ReadonlySet<OperationName> = new Set(["append", "commit", "beat"]);

export class WriteEngine {
  /** The file ahead that was begun, if there is one. */
  readonly ahead: AheadStart | undefined;
  /** What people should know of how the file was found. */
  warning: string | undefined;
  readonly #connection: Connection;
  readonly #topics: Topics;
  readonly #partitions: Partitions;
  readonly #batches: Batches;
  readonly #rows: BatchWriter;
  readonly #filer: SheetFiler;
  readonly #ids: IdWriter;
  readonly #keys: KeyIndexWriter;
  readonly #leases: LeaseWriter;
  readonly #documents: DocumentWriter;
  readonly #operations: Operations;
  readonly #ahead: AheadFile;
  readonly #useLock: UseLock;
  readonly #patienceMs: number;
  #dataVersion = -1;
  /** False if no sheet was added since the last look: most groups add none, and need not pay for a look. */
  #mayFilingBeDue = true;

  constructor(options: WriterOptions) {
    const { connection, useLock } = openForWriting(options);
    this.#connection = connection;
    this.#useLock = useLock;
    this.#patienceMs = options.busyTimeoutMs;
    const sizes = options.indexSizes ?? INDEX_SIZES;
    this.#topics = new Topics(connection);
    this.#partitions = new Partitions(connection);
    this.#batches = new Batches(connection, this.#topics, () => {});
    // Filing needs room before it frees any: a file that may be full has rows only.
    const useSheets = options.maxBytes === undefined;
    this.#rows = new BatchWriter(connection, this.#batches.sheets, { useSheets });
    this.#filer = new SheetFiler({
      connection,
      useSheets,
      sheets: this.#batches.sheets,
      rows: this.#rows,
      partitions: this.#partitions,
    });
    this.#ids = new IdWriter({
      connection,
      partitions: this.#partitions,
      batches: this.#batches,
      rows: this.#rows,
      now: Date.now,
      sizes,
    });
    this.#keys = new KeyIndexWriter({
      connection,
      partitions: this.#partitions,
      topics: this.#topics,
      sizes,
    });
    this.#leases = new LeaseWriter(connection, new ProcessWatch());
    this.#documents = new DocumentWriter(connection, this.#leases);
    this.#operations = operationsOf({
      connection,
      topics: this.#topics,
      partitions: this.#partitions,
      batches: this.#batches,
      rows: this.#rows,
      filer: this.#filer,
      ids: this.#ids,
      keys: this.#keys,
      leases: this.#leases,
      documents: this.#documents,
    });
    this.#ahead = new AheadFile(connection);
    try {
      this.ahead = this.#beginAhead(options);
    } catch (error) {
      connection.close();
      this.#useLock.release();
      throw busError(error, options.path);
    }
  }

  /**
   * Takes over what stands in the file ahead; returns the number of the last record that the store has. If it throws, nothing
   * may be written any more: seqs were promised that only those events may have.
   */
  apply(): number {
    this.#transact(() => this.#takeOver());
    return this.#ahead.serial;
  }

  /** Runs requests as one transaction. Never throws: what went wrong is in the replies. */
  run(requests: readonly Request[]): { replies: Reply[]; foreign: boolean } {
    let foreign = false;
    let replies: Reply[];
    try {
      beginInTurn(this.#connection, this.#patienceMs);
      foreign = this.#checkOthers();
      replies = this.#performAll(requests);
    } catch (error) {
      return { replies: this.#undo(requests, error, false), foreign };
    }
    try {
      this.#connection.exec("COMMIT");
      return { replies, foreign };
    } catch (error) {
      return { replies: this.#undo(requests, error, isUncertain(error)), foreign };
    }
  }

  /** Whether another connection has written since the last look. */
  checkOthers(): boolean {
    return this.#checkOthers();
  }

  /**
   * Gives up to `pages` free pages back to the file system, unless there are few (`keep`, or a tenth of the file): those
   * are used again. True if there is more to give.
   */
  reclaim(pages: number, keep: number): boolean {
    const free = (): number => Number(this.#connection.pragma("freelist_count"));
    const spare = keep + Number(this.#connection.pragma("page_count")) / 10;
    if (free() <= spare) return false;
    this.#connection.exec(`PRAGMA incremental_vacuum(${pages})`);
    if (free() > spare) return true;
    // The file itself shrinks then.
    this.fold();
    return false;
  }

  /** Whether sheets wait to be filed, or an index to be put in order. */
  get isFilingDue(): boolean {
    this.#mayFilingBeDue &&= this.#filer.isDue;
    return this.#mayFilingBeDue || this.#ids.isDue || this.#keys.isDue;
  }

  /** A slice of that. Says whether another process has written; throws if nothing was done. */
  file(sliceBytes = FILE_SLICE_BYTES): { foreign: boolean } {
    return this.#transact((foreign) => {
      const due = [this.#ids, this.#keys].filter(({ isDue }) => isDue);
      if (this.#mayFilingBeDue || due.length === 0) this.#filer.slice(sliceBytes);
      for (const index of due) index.slice();
      return { foreign };
    });
  }

  /** Folds the log beside the main file into it, as far as nobody reads what stands there now. */
  fold(): void {
    this.#connection.exec("PRAGMA wal_checkpoint(PASSIVE)");
  }

  /** What SQLite says about one of its settings. */
  setting(name: "synchronous" | "journal_mode" | "auto_vacuum" | "page_size"): SqlValue {
    return this.#connection.pragma(name);
  }

  close(): void {
    try {
      if (this.#ahead.isBegun) this.#endAhead();
      // The main file then holds everything, also if another process keeps the log beside it open.
      this.#connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      this.#ahead.remove();
    } finally {
      this.abandon();
    }
  }

  /** Leaves everything as it is: whoever opens the file next looks at what was promised. */
  abandon(): void {
    this.#connection.close();
    this.#useLock.release();
  }

  /** Takes over what a process that ended left in the file ahead, then begins one if it may be used. */
  #beginAhead({ exclusive, durability, maxBytes }: WriterOptions): AheadStart | undefined {
    this.#transact(() => {
      this.#ahead.load();
      if (this.#ahead.isLost) this.#doWithout();
      this.#takeOver();
    });
    // Without a sync the thread is quick enough; in a file that may be full, room for what was promised is not certain.
    if (!exclusive || durability !== "sync" || maxBytes !== undefined) return undefined;
    const begun = this.#transact(() => this.#ahead.begin());
    return { ...begun, idsSinceMs: this.#ids.newestMs() + 1 };
  }

  #endAhead(): void {
    this.#transact(() => {
      this.#takeOver();
      this.#ahead.end();
    });
  }

  #doWithout(): void {
    const { path } = this.#connection;
    this.warning = `${aheadPath(path)} is missing: the process that had ${path} for itself did not close it, and the last events that it answered may have stood there only`;
    this.#ahead.end();
  }

  #takeOver(): void {
    for (let records = this.#ahead.next(); records.length > 0; records = this.#ahead.next()) {
      for (const append of joinAppends(records)) this.#keep(append);
      this.#ahead.applied(records);
    }
  }

  #keep({ request, firstSeq: promised }: PromisedAppend): void {
    const { firstSeq } = this.#operations.append(request);
    if (firstSeq === promised) return;
    const { topic, partition } = request;
    throw new BusError(
      "STORE_DAMAGED",
      `an event of partition ${partition} of "${topic}" was promised seq ${promised}, but the next one is ${firstSeq}`,
    );
  }

  /** All of the work or nothing of it. */
  #transact<T>(work: (foreign: boolean) => T): T {
    beginInTurn(this.#connection, this.#patienceMs);
    try {
      const result = work(this.#checkOthers());
      this.#flush();
      this.#connection.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.#connection.inTransaction) this.#connection.exec("ROLLBACK");
      this.#forgetUndone();
      throw error;
    }
  }

  #performAll(requests: readonly Request[]): Reply[] {
    if (requests.length === 1) {
      const [{ number, name, argument }] = requests as [Request];
      const answer = this.#call(name, argument);
      this.#flush();
      return [{ number, answer }];
    }
    try {
      const replies = requests.map((request) =>
        REFUSES_FIRST.has(request.name) ? this.#performBare(request) : this.#perform(request),
      );
      this.#flush();
      return replies;
    } catch (error) {
      // SQLite itself ends the whole transaction on some faults, a full disk for one: then all have failed.
      if (!this.#connection.inTransaction) throw error;
      this.#connection.exec("ROLLBACK");
      this.#forgetUndone();
      beginInTurn(this.#connection, this.#patienceMs);
      this.#checkOthers();
      return requests.map((request) => this.#perform(request));
    }
  }

  #performBare({ number, name, argument }: Request): Reply {
    try {
      return { number, answer: this.#call(name, argument) };
    } catch (error) {
      if (!BusError.is(error)) throw error;
      return { number, error: packError(error) };
    }
  }

  #perform({ number, name, argument }: Request): Reply {
    this.#flush();
    this.#connection.exec("SAVEPOINT request");
    try {
      const answer = this.#call(name, argument);
      this.#flush();
      this.#connection.exec("RELEASE request");
      return { number, answer };
    } catch (error) {
      if (!this.#connection.inTransaction) throw error;
      this.#connection.exec("ROLLBACK TO request; RELEASE request");
      this.#forgetUndone();
      return { number, error: packError(busError(error, this.#connection.path)) };
    }
  }

  #call(name: OperationName, argument: unknown): unknown {
    return (this.#operations[name] as (argument: unknown) => unknown)(argument);
  }

  /** Nothing of the group happened, as far as is known. */
  #undo(requests: readonly Request[], error: unknown, uncertain: boolean): Reply[] {
    if (this.#connection.inTransaction) this.#connection.exec("ROLLBACK");
    this.#forgetUndone();
    // Without room for all of them there may be room for some: a cursor or a removal need not fail with a large append.
    if (requests.length > 1 && isFull(error))
      return requests.flatMap((request) => this.run([request]).replies);
    const { path } = this.#connection;
    const fault = uncertain
      ? new BusError(
          "OUTCOME_UNKNOWN",
          `the device of ${path} failed during a commit: ${describeThrown(error)}`,
        )
      : busError(error, path);
    const packed = packError(fault);
    return requests.map(({ number }) => ({ number, error: packed }));
  }

  #checkOthers(): boolean {
    this.#ids.begin();
    this.#keys.begin();
    const version = Number(this.#connection.sql("PRAGMA data_version").get()?.[0]);
    if (version === this.#dataVersion) return false;
    const first = this.#dataVersion < 0;
    this.#dataVersion = version;
    this.#mayFilingBeDue = true;
    this.#forget();
    this.#ids.restart();
    this.#keys.refresh();
    return !first;
  }

  #flush(): void {
    if (this.#rows.flush()) this.#mayFilingBeDue = true;
    this.#ids.flush();
    this.#keys.flush();
    this.#partitions.flush();
    this.#leases.flush();
  }

  /** Something was rolled back. */
  #forgetUndone(): void {
    this.#rows.forget();
    this.#ids.forget();
    this.#keys.forget();
    this.#batches.sheets.forget();
    this.#filer.forget();
    this.#forget();
  }

  #forget(): void {
    this.#topics.forget();
    this.#partitions.forget();
    this.#leases.forget();
    this.#batches.forget();
    this.#documents.forget();
  }
}
