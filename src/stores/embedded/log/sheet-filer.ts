/**
 * Files what stands in sheets, in the writing thread: the pieces of a partition are joined and become rows, as if they had
 * come together. In rounds: a round takes the sheets that are there when it begins, partition by partition, a slice at a
 * time, so that appends are not kept waiting, and removes them at its end. Each slice is part of one commit, and says how
 * far it came; any process may go on from there.
 *
 *   no round --sheets exceed a bound, their ids are noted--> partitions below `below` are filed --the last one-->
 *   sheets deleted, no round
 *
 * Ids that were found by the time in them then stand next to ids of other times: they get entries in an index of their
 * own. Not in that of the strays, which is read back whenever recent ids are forgotten. They are noted before the round
 * begins, sheet by sheet: neighbours in a sheet are neighbours in the index. By partition, every slice would change all of
 * its pages. That an id has an entry and stands in a sheet, for a while, does no harm: both lead to the same place.
 */
import { type Batch, BatchCursor, MAX_SPAN, VERSION } from "../../batch-codec.js";
import { ID_BYTES } from "../../id-key.js";
import type { BatchWriter } from "../batches/batch-writer.js";
import type { BatchToWrite } from "../batches/batches.js";
import { isSpanned } from "../batches/id-span.js";
import type { Partitions } from "../batches/partitions.js";
import type { Piece } from "../batches/sheet-codec.js";
import { cut, type SheetBytes, type Sheets } from "../batches/sheets.js";
import { FiledIds } from "../indexes/filed-ids.js";
import type { Connection } from "../sqlite.js";

/** Sheets, their pieces and their bytes, beyond which a round begins: all of it is kept in memory by those who read. */
const MAX_SHEETS = 1_024;
const MAX_PIECES = 32_768;
const MAX_BYTES = 8 * 1_048_576;
/** A row is closed once it has this many bytes. */
const ROW_BYTES = 65_536;

/** Noting the ids of so many bytes takes as long as filing one. */
const NOTED_PER_FILED = 4;

export interface SheetFilerParts {
  readonly connection: Connection;
  readonly sheets: Sheets;
  readonly rows: BatchWriter;
  readonly partitions: Partitions;
  /** False: there are to be none. Those of before go as soon as may be. */
  readonly useSheets: boolean;
}

export class SheetFiler {
  readonly #parts: SheetFilerParts;
  readonly #ids = new FiledIds();
  /** The last sheet of the round that is being prepared; 0 if none is. */
  #preparing = 0;
  /** The ids of sheets up to this one have their entries. What another process has noted may be noted again. */
  #notedThrough = 0;

  constructor(parts: SheetFilerParts) {
    this.#parts = parts;
  }

  /** Whether there is enough to begin a round, or one is under way. */
  get isDue(): boolean {
    const { sheets, useSheets } = this.#parts;
    sheets.refresh();
    const { size, round } = sheets;
    if (round.through > 0 || (!useSheets && size.sheets > 0)) return true;
    return size.sheets > MAX_SHEETS || size.pieces > MAX_PIECES || size.bytes > MAX_BYTES;
  }

  /** Files everything, for those who need a partition's batches as rows. */
  all(): void {
    const { sheets } = this.#parts;
    for (sheets.refresh(); sheets.size.sheets > 0; sheets.refresh()) this.slice(Number.POSITIVE_INFINITY);
  }

  /** The next slice of the round under way, or of a new one: partitions with so many bytes, at least one. */
  slice(sliceBytes: number): void {
    const { sheets, connection } = this.#parts;
    sheets.refresh();
    if (sheets.size.sheets === 0) return;
    const { round } = sheets;
    const through = round.through || this.#prepareRound(sliceBytes * NOTED_PER_FILED);
    if (through === 0) return;
    let bytes = 0;
    for (const part of sheets.partsFrom(round.below, through)) {
      bytes += this.#file(part, sheets.through(part, through));
      if (bytes < sliceBytes) continue;
      this.#ids.flush(connection);
      connection.sql("UPDATE filing SET through = ?, below = ?").run(through, part + 1);
      return;
    }
    this.#ids.flush(connection);
    this.#end(through);
  }

  /** After something was rolled back: what was noted may be gone. */
  forget(): void {
    this.#ids.forget();
    this.#preparing = 0;
    this.#notedThrough = 0;
  }

  /** Notes the ids of sheets with so many bytes, at least one; the last sheet of the round once all are noted, else 0. */
  #prepareRound(sliceBytes: number): number {
    const { sheets, connection } = this.#parts;
    // Not those that come meanwhile: the round would never begin.
    this.#preparing ||= sheets.newest;
    const through = this.#preparing;
    let bytes = 0;
    for (const { number, pieces, bytes: more } of sheets.between(this.#notedThrough, through)) {
      if (bytes >= sliceBytes) break;
      const sheet = sheets.open(number);
      if (sheet?.isSound) for (const piece of pieces) this.#noteIds(piece, sheet.data);
      bytes += more;
      this.#notedThrough = number;
    }
    this.#ids.flush(connection);
    if (bytes >= sliceBytes) return 0;
    this.#preparing = 0;
    this.#notedThrough = through;
    return through;
  }

  /** The pieces of a partition become rows; returns how many bytes those have. */
  #file(part: number, pieces: readonly Piece[]): number {
    const { sheets, rows, partitions } = this.#parts;
    const state = partitions.get(part);
    let bytes = 0;
    for (const run of runsOf(pieces)) {
      const opened = run.map(({ sheet }) => sheets.open(sheet) ?? LOST);
      // Bytes that are damaged, or of another format, are kept as they are, each piece for itself.
      const mayJoin = run.every((piece, i) => {
        const { data, isSound } = opened[i] as SheetBytes;
        return isSound && data[piece.dataFrom] === VERSION;
      });
      const insert = (row: BatchToWrite, isSound: boolean): void => {
        rows.insert(row, isSound);
        bytes += row.bytes;
        state.bytes += row.bytes;
      };
      if (mayJoin) insert(rowOf(run, joined(run, opened)), true);
      run.forEach((piece, i) => {
        const sheet = opened[i] as SheetBytes;
        if (!mayJoin) insert(rowOf([piece], cut(piece, sheet.data)), sheet.isSound);
        state.bytes -= piece.bytes;
        if (sheet.isSound && piece.sheet > this.#notedThrough) this.#noteIds(piece, sheet.data);
      });
    }
    partitions.save(state);
    return bytes;
  }

  /** `data`: of the whole sheet. */
  #noteIds(piece: Piece, data: Buffer): void {
    const { part, firstSeq, idsFrom, idsTo } = piece;
    if (piece.indexed === 0) {
      for (let at = idsFrom, seq = firstSeq; at < idsTo; at += ID_BYTES, seq++)
        this.#ids.add(data, at, part, seq);
      return;
    }
    const batch: Batch = cut(piece, data);
    const cursor = new BatchCursor(batch);
    while (cursor.next())
      if (isSpanned(batch, piece, cursor)) this.#ids.add(batch.ids, cursor.uuidAt, part, cursor.seq);
  }

  #end(through: number): void {
    const { connection, sheets } = this.#parts;
    for (const id of sheets.unreadable)
      if (id <= through) connection.sql("UPDATE sheet SET id = -id WHERE id = ?").run(id);
    connection.sql("DELETE FROM sheet WHERE id > 0 AND id <= ?").run(through);
    connection.sql("UPDATE filing SET through = 0, below = 0").run();
  }
}

/** Pieces that follow each other without a gap and fit into one row. */
function runsOf(pieces: readonly Piece[]): Piece[][] {
  const runs: Piece[][] = [];
  let run: Piece[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    const [first, last] = [run[0], run.at(-1)];
    const fits =
      first !== undefined &&
      piece.firstSeq === (last?.lastSeq ?? 0) + 1 &&
      piece.lastSeq - first.firstSeq < MAX_SPAN &&
      bytes + piece.bytes <= ROW_BYTES;
    if (!fits) {
      run = [];
      bytes = 0;
      runs.push(run);
    }
    run.push(piece);
    bytes += piece.bytes;
  }
  return runs;
}

/** Pieces that follow each other as one row. */
function rowOf(pieces: readonly Piece[], { ids, data }: Pick<Batch, "ids" | "data">): BatchToWrite {
  const [first, last] = [pieces[0] as Piece, pieces.at(-1) as Piece];
  const count = pieces.reduce((sum, piece) => sum + piece.count, 0);
  return {
    part: first.part,
    firstSeq: first.firstSeq,
    lastSeq: last.lastSeq,
    count,
    bytes: ids.length + data.length,
    maxTs: pieces.reduce((newest, { maxTs }) => Math.max(newest, maxTs), Number.NEGATIVE_INFINITY),
    runTs: last.runTs,
    minIdt: null,
    maxIdt: null,
    indexed: count,
    ids,
    data,
  };
}

/** The bytes of sound pieces one behind the other, under one version. */
function joined(pieces: readonly Piece[], opened: readonly SheetBytes[]): Pick<Batch, "ids" | "data"> {
  const idsBytes = pieces.reduce((sum, { idsFrom, idsTo }) => sum + idsTo - idsFrom, 0);
  const dataBytes = pieces.reduce((sum, { dataFrom, dataTo }) => sum + dataTo - dataFrom - 1, 1);
  const bytes = Buffer.allocUnsafe(idsBytes + dataBytes);
  let idsAt = 0;
  let dataAt = idsBytes;
  pieces.forEach(({ idsFrom, idsTo, dataFrom, dataTo }, i) => {
    const { data } = opened[i] as SheetBytes;
    idsAt += data.copy(bytes, idsAt, idsFrom, idsTo);
    dataAt += data.copy(bytes, dataAt, i === 0 ? dataFrom : dataFrom + 1, dataTo);
  });
  return { ids: bytes.subarray(0, idsBytes), data: bytes.subarray(idsBytes) };
}

/** In place of a sheet whose row cannot be read. */
const LOST: SheetBytes = { data: Buffer.alloc(0), isSound: false };
