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
import { type Batch, BatchCursor, MAX_SPAN, VERSION } from "../batch-codec.js";
import { ID_BYTES, uuidIndexKey } from "../id-key.js";
import type { BatchWriter } from "./batch-writer.js";
import type { BatchToWrite } from "./batches.js";
import { isSpanned } from "./id-lookup.js";
import type { Partitions } from "./partitions.js";
import type { Piece } from "./sheet-codec.js";
import type { Sheets } from "./sheets.js";
import { type Connection, rowsOf, type SqlValue } from "./sqlite.js";

/** Sheets, their pieces and their bytes, beyond which a round begins: all of it is kept in memory by those who read. */
const MAX_SHEETS = 1_024;
const MAX_PIECES = 32_768;
const MAX_BYTES = 8 * 1_048_576;
/** A row is closed once it has this many bytes. */
const ROW_BYTES = 65_536;

/** Noting the ids of so many bytes takes as long as filing one. */
const NOTED_PER_FILED = 4;
const IDS_TOGETHER = 256;
/** By how many ids they insert. */
const INSERT_IDS = Array.from(
  { length: IDS_TOGETHER + 1 },
  (_, count) => `INSERT OR REPLACE INTO filed_id (id, part, seq) VALUES ${rowsOf(count, "(?, ?, ?)")}`,
);

interface FiledId {
  readonly key: Buffer;
  readonly part: number;
  readonly seq: number;
}

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
  #ids: FiledId[] = [];
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
      bytes += this.#file(
        part,
        sheets.of(part).filter(({ sheet }) => sheet <= through),
      );
      if (bytes < sliceBytes) continue;
      this.#insertIds();
      connection.sql("UPDATE filing SET through = ?, below = ?").run(through, part + 1);
      return;
    }
    this.#insertIds();
    this.#end(through);
  }

  /** After something was rolled back: what was noted may be gone. */
  forget(): void {
    this.#ids = [];
    this.#preparing = 0;
    this.#notedThrough = 0;
  }

  /** Notes the ids of sheets with so many bytes, at least one; the last sheet of the round once all are noted, else 0. */
  #prepareRound(sliceBytes: number): number {
    const { sheets } = this.#parts;
    // Not those that come meanwhile: the round would never begin.
    this.#preparing ||= sheets.newest;
    const through = this.#preparing;
    let bytes = 0;
    for (const { number, pieces, bytes: more } of sheets.between(this.#notedThrough, through)) {
      if (bytes >= sliceBytes) break;
      for (const piece of pieces) {
        const batch = sheets.load(piece);
        if (batch !== undefined) this.#noteIds(piece, batch);
      }
      bytes += more;
      this.#notedThrough = number;
    }
    this.#insertIds();
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
      const batches = run.map((piece) => sheets.load(piece));
      const sound = batches.filter((batch) => batch !== undefined);
      // Bytes that are damaged, or of another format, are kept as they are, each piece for itself.
      const joined =
        sound.length === run.length && sound.every(({ data }) => data[0] === VERSION)
          ? [rowOf(run, sound)]
          : run.map((piece) => rowOf([piece], [sheets.raw(piece)]));
      joined.forEach((row, i) => {
        rows.insert(row, joined.length < run.length || batches[i] !== undefined);
        bytes += row.bytes;
        state.bytes += row.bytes;
      });
      run.forEach((piece, i) => {
        state.bytes -= piece.bytes;
        const batch = batches[i];
        if (batch !== undefined && piece.sheet > this.#notedThrough) this.#noteIds(piece, batch);
      });
    }
    partitions.save(state);
    return bytes;
  }

  #noteIds(piece: Piece, batch: Batch): void {
    const { part, firstSeq } = piece;
    if (piece.indexed === 0) {
      for (let at = 0, seq = firstSeq; at < batch.ids.length; at += ID_BYTES, seq++)
        this.#ids.push({ key: uuidIndexKey(batch.ids, at), part, seq });
      return;
    }
    const cursor = new BatchCursor(batch);
    while (cursor.next())
      if (isSpanned(batch, piece, cursor)) this.#ids.push({ key: cursor.indexKey, part, seq: cursor.seq });
  }

  /** In order, so that neighbours share a page. */
  #insertIds(): void {
    const ids = this.#ids.sort((a, b) => Buffer.compare(a.key, b.key));
    this.#ids = [];
    for (let at = 0; at < ids.length; at += IDS_TOGETHER) {
      const some = ids.slice(at, at + IDS_TOGETHER);
      const values = some.flatMap(({ key, part, seq }): SqlValue[] => [key, part, seq]);
      this.#parts.connection.sql(INSERT_IDS[some.length] as string).run(...values);
    }
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

/** Batches that follow each other as one: their bytes one behind the other, under one version. */
function rowOf(pieces: readonly Piece[], batches: readonly Batch[]): BatchToWrite {
  const [first, last] = [pieces[0] as Piece, pieces.at(-1) as Piece];
  const ids = Buffer.concat(batches.map((batch) => batch.ids));
  const data = Buffer.concat(batches.map((batch, i) => (i === 0 ? batch.data : batch.data.subarray(1))));
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
