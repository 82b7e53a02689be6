/**
 * Batches into the file, in the writing thread. They are gathered until `flush`: only then it is known how many small ones
 * of different partitions are committed together. Many go into sheets, few become rows at once.
 *
 * Whoever reads batches on this connection flushes first.
 */
import { checksum } from "../../batch-codec.js";
import { type Connection, rowsOf, type SqlValue } from "../sqlite.js";
import { type BatchToWrite, posOf } from "./batches.js";
import { encodeSheet } from "./sheet-codec.js";
import type { Sheets } from "./sheets.js";

/** A row of this size or more fills a good part of a page: nothing is gained by a sheet. */
const SMALL_BYTES = 2_048;
/** Fewer small batches than this are written as rows. */
const MIN_PIECES = 8;
/** A sheet is closed once it has this many bytes: whoever reads a piece loads all of it. */
const SHEET_BYTES = 65_536;

/** Rows written by one statement, if there are as many. */
const TOGETHER = 8;
/** Whatever fails undoes more than the statement: FAIL spares SQLite a copy of each page, to undo the statement alone. */
const INSERT =
  "INSERT OR FAIL INTO batch (pos, last_seq, count, bytes, max_ts, run_ts, min_idt, max_idt, indexed, crc, ids, data) VALUES";
const ONE_ROW = `(${posOf("?", "?")}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const INSERT_ONE = `${INSERT} ${ONE_ROW}`;
const INSERT_MANY = `${INSERT} ${rowsOf(TOGETHER, ONE_ROW)}`;

export class BatchWriter {
  readonly #connection: Connection;
  readonly #sheets: Sheets;
  readonly #useSheets: boolean;
  #gathered: BatchToWrite[] = [];
  #small: BatchToWrite[] = [];

  constructor(connection: Connection, sheets: Sheets, o: { readonly useSheets: boolean }) {
    this.#connection = connection;
    this.#sheets = sheets;
    this.#useSheets = o.useSheets;
  }

  /** `mayWait`: it may stand in a sheet first. */
  add(batch: BatchToWrite, mayWait: boolean): void {
    if (this.#useSheets && mayWait && batch.bytes < SMALL_BYTES) this.#small.push(batch);
    else this.#gathered.push(batch);
  }

  /** True if there are new sheets. */
  flush(): boolean {
    const rows = this.#gathered;
    const small = this.#small;
    this.forget();
    this.#insertAll(rows);
    if (small.length >= MIN_PIECES) {
      this.#insertSheets(small);
      return true;
    }
    this.#insertAll(small);
    return false;
  }

  /** What was gathered is not to be written. */
  forget(): void {
    if (this.#gathered.length > 0) this.#gathered = [];
    if (this.#small.length > 0) this.#small = [];
  }

  /** Writes a row at once. Its checksum is a wrong one if its bytes are known to be damaged: they stay so (P14). */
  insert(batch: BatchToWrite, isSound = true): void {
    const values: SqlValue[] = [];
    addColumns(values, batch, isSound);
    this.#connection.sql(INSERT_ONE).run(...values);
  }

  #insertAll(batches: readonly BatchToWrite[]): void {
    let at = 0;
    for (; at + TOGETHER <= batches.length; at += TOGETHER) {
      const values: SqlValue[] = [];
      for (let i = at; i < at + TOGETHER; i++) addColumns(values, batches[i] as BatchToWrite, true);
      this.#connection.sql(INSERT_MANY).run(...values);
    }
    for (; at < batches.length; at++) this.insert(batches[at] as BatchToWrite);
  }

  #insertSheets(batches: readonly BatchToWrite[]): void {
    let sheet: BatchToWrite[] = [];
    let bytes = 0;
    for (const batch of batches) {
      sheet.push(batch);
      bytes += batch.bytes;
      if (bytes < SHEET_BYTES) continue;
      this.#insertSheet(sheet);
      sheet = [];
      bytes = 0;
    }
    if (sheet.length > 0) this.#insertSheet(sheet);
  }

  #insertSheet(batches: readonly BatchToWrite[]): void {
    const encoded = encodeSheet(batches);
    const id = this.#connection
      .sql("INSERT INTO sheet (directory, data) VALUES (?, ?)")
      .insert(encoded.directory, encoded.data);
    this.#sheets.wrote(id, batches, encoded);
  }
}

function addColumns(values: SqlValue[], batch: BatchToWrite, isSound: boolean): void {
  const crc = checksum(batch.part, batch.lastSeq, batch.count, batch);
  values.push(
    batch.part,
    batch.firstSeq,
    batch.lastSeq,
    batch.count,
    batch.bytes,
    batch.maxTs,
    batch.runTs,
    batch.minIdt,
    batch.maxIdt,
    batch.indexed,
    isSound ? crc : crc ^ 1,
    batch.ids,
    batch.data,
  );
}
