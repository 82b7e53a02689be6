/**
 * Sheets, as one connection sees them. Among a thousand partitions a commit holds about one event of each: as rows of
 * their own they would dirty a page each. So small batches of many partitions that are committed together go into few
 * rows, the sheets, and are filed later (sheet-filer): the batches of a partition are joined and become ordinary rows.
 *
 * Invariants:
 * - every batch is either a row or a living piece of a sheet, in every state of the file;
 * - a piece lives unless a round of filing has passed it: sheet <= `through` and partition number < `below`;
 * - sheets end in the order of their numbers, which only grow. So what is known here is brought up to date by a look
 *   at the lowest, the highest, and the round;
 * - only partitions without holes have pieces: should a directory be damaged, the gap is noticed (P14).
 *
 * A sheet whose directory is damaged is kept under its negative number when its turn to be filed comes.
 */
import { crc32 } from "node:zlib";
import type { Batch } from "../../batch-codec.js";
import type { Connection } from "../sqlite.js";
import type { BatchToWrite } from "./batches.js";
import {
  type DecodedSheet,
  decodeDirectory,
  decodedSheet,
  type EncodedSheet,
  type Piece,
} from "./sheet-codec.js";

const STATE = `SELECT (SELECT id FROM sheet WHERE id > 0 ORDER BY id LIMIT 1),
  (SELECT id FROM sheet ORDER BY id DESC LIMIT 1), through, below FROM filing`;
type StateRow = [oldest: number | null, newest: number, through: number, below: number];

const NO_PIECES: readonly Piece[] = [];

interface KnownSheet extends DecodedSheet {
  /** Span of the times of its ids. */
  readonly minIdt: number;
  readonly maxIdt: number;
}

interface SheetPieces {
  readonly number: number;
  readonly pieces: readonly Piece[];
  readonly bytes: number;
}

/** The bytes of a whole sheet. */
export interface SheetBytes {
  readonly data: Buffer;
  readonly isSound: boolean;
}

export class Sheets {
  readonly #connection: Connection;
  readonly #known = new Map<number, KnownSheet>();
  readonly #unreadable = new Set<number>();
  readonly #byPart = new Map<number, Piece[]>();
  readonly #loaded = new Map<number, SheetBytes>();
  #loadedBytes = 0;
  #pieces = 0;
  #bytes = 0;
  #oldest = 0;
  #newest = 0;
  #through = 0;
  #below = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Living pieces of a partition, in order. */
  of(part: number): readonly Piece[] {
    this.refresh();
    const pieces = this.#byPart.get(part);
    if (pieces === undefined) return NO_PIECES;
    if (part >= this.#below) return pieces;
    const first = pieces.findIndex(({ sheet }) => sheet > this.#through);
    return first < 0 ? NO_PIECES : pieces.slice(first);
  }

  /** As `of`, without a look at the file, up to a sheet that a round goes to: for the one who files them. */
  through(part: number, through: number): readonly Piece[] {
    const pieces = this.#byPart.get(part) ?? NO_PIECES;
    const end = pieces.findIndex(({ sheet }) => sheet > through);
    return end < 0 ? pieces : pieces.slice(0, end);
  }

  /** The bytes of a piece, or undefined if those of its sheet are damaged. */
  load(piece: Piece): Batch | undefined {
    const sheet = this.open(piece.sheet);
    return sheet?.isSound ? cut(piece, sheet.data) : undefined;
  }

  /** Living pieces that note a span of times of their ids which meets this one. */
  *spanning(firstMs: number, lastMs: number): Generator<Piece> {
    this.refresh();
    for (const { pieces, minIdt, maxIdt } of this.#known.values()) {
      if (lastMs < minIdt || firstMs > maxIdt) continue;
      for (const piece of pieces) if (meets(piece, firstMs, lastMs) && this.#isAlive(piece)) yield piece;
    }
  }

  /** Partition numbers from `below` on, in order, that have pieces in sheets up to `through`. */
  partsFrom(below: number, through: number): number[] {
    const parts: number[] = [];
    for (const [part, [first]] of this.#byPart)
      if (part >= below && first !== undefined && first.sheet <= through) parts.push(part);
    return parts.sort((a, b) => a - b);
  }

  /** Sheets in (after, through] that can be read, in order. */
  between(after: number, through: number): SheetPieces[] {
    const found: SheetPieces[] = [];
    for (const [number, { pieces, bytes }] of this.#known)
      if (number > after && number <= through) found.push({ number, pieces, bytes });
    return found;
  }

  /** The round of filing that is under way: zeros if there is none. */
  get round(): { readonly through: number; readonly below: number } {
    return { through: this.#through, below: this.#below };
  }

  get newest(): number {
    return this.#newest;
  }

  /** How many there are, readable or not, and the pieces and bytes of those that are. */
  get size(): { readonly sheets: number; readonly pieces: number; readonly bytes: number } {
    return {
      sheets: this.#known.size + this.#unreadable.size,
      pieces: this.#pieces,
      bytes: this.#bytes,
    };
  }

  get unreadable(): readonly number[] {
    return [...this.#unreadable];
  }

  /** The newest time that pieces note of their ids; 0 without any. */
  get newestIdMs(): number {
    let newest = 0;
    for (const { maxIdt } of this.#known.values()) newest = Math.max(newest, maxIdt);
    return newest;
  }

  /** Brings what is known in line with the state that the connection sees now. */
  refresh(): void {
    const [oldest, newest, through, below] = this.#connection.sql(STATE).get<StateRow>() ?? [null, 0, 0, 0];
    this.#through = through;
    this.#below = below;
    if (oldest === null) {
      if (this.#newest > 0) this.forget();
      return;
    }
    if (newest > this.#newest) this.#learn();
    if (oldest > this.#oldest) this.#dropBelow(oldest);
  }

  /**
   * A sheet that this connection has just written need not be read back. Numbers follow each other, so one that is not the
   * next tells of sheets in between that are not known: then all of them are read when somebody asks.
   */
  wrote(number: number, batches: readonly BatchToWrite[], encoded: EncodedSheet): void {
    const id = this.#newest + 1;
    if (number !== id) return;
    // From here on the number that was counted, an integer to V8 too: the engine's is a fraction there, and would change the
    // hidden class of all that holds one.
    this.#newest = id;
    this.#add(id, decodedSheet(id, batches, encoded));
    this.#keep(id, { data: encoded.data, isSound: true });
  }

  /** After something was rolled back: numbers may come again. */
  forget(): void {
    this.#known.clear();
    this.#unreadable.clear();
    this.#byPart.clear();
    this.#loaded.clear();
    this.#loadedBytes = 0;
    this.#pieces = 0;
    this.#bytes = 0;
    this.#oldest = 0;
    this.#newest = 0;
  }

  #learn(): void {
    const rows = this.#connection
      .sql("SELECT id, directory FROM sheet WHERE id > ? ORDER BY id")
      .all<[id: number, directory: Buffer]>(this.#newest);
    for (const [id, directory] of rows) {
      this.#newest = id;
      const sheet = decodeDirectory(id, directory);
      if (sheet === undefined) this.#unreadable.add(id);
      else this.#add(id, sheet);
    }
  }

  #add(id: number, sheet: DecodedSheet): void {
    let minIdt = Number.POSITIVE_INFINITY;
    let maxIdt = 0;
    for (const piece of sheet.pieces) {
      const earlier = this.#byPart.get(piece.part);
      if (earlier === undefined) this.#byPart.set(piece.part, [piece]);
      else earlier.push(piece);
      if (piece.minIdt === null || piece.maxIdt === null) continue;
      minIdt = Math.min(minIdt, piece.minIdt);
      maxIdt = Math.max(maxIdt, piece.maxIdt);
    }
    const { pieces, crc, bytes } = sheet;
    this.#known.set(id, { pieces, crc, bytes, minIdt, maxIdt });
    this.#pieces += sheet.pieces.length;
    this.#bytes += sheet.bytes;
  }

  #dropBelow(oldest: number): void {
    this.#oldest = oldest;
    for (const [id, { pieces, bytes }] of this.#known) {
      if (id >= oldest) break;
      this.#known.delete(id);
      this.#pieces -= pieces.length;
      this.#bytes -= bytes;
      this.#unload(id);
    }
    for (const id of this.#unreadable) if (id < oldest) this.#unreadable.delete(id);
    for (const [part, pieces] of this.#byPart) {
      const rest = pieces.filter(({ sheet }) => sheet >= oldest);
      if (rest.length === 0) this.#byPart.delete(part);
      else if (rest.length < pieces.length) this.#byPart.set(part, rest);
    }
  }

  #isAlive({ sheet, part }: Piece): boolean {
    return sheet > this.#through || part >= this.#below;
  }

  /** The bytes of a sheet, damaged or not; undefined if there is no such row, or none that can be read. */
  open(id: number): SheetBytes | undefined {
    const loaded = this.#loaded.get(id);
    const known = this.#known.get(id);
    if (loaded !== undefined || known === undefined) return loaded;
    const data = this.#connection.sql("SELECT data FROM sheet WHERE id = ?").get<[Buffer]>(id)?.[0];
    // A row whose shape is damaged may hold anything.
    if (!Buffer.isBuffer(data)) return undefined;
    const sheet = { data, isSound: data.length === known.bytes && crc32(data) === known.crc };
    this.#keep(id, sheet);
    return sheet;
  }

  #keep(id: number, sheet: SheetBytes): void {
    this.#loaded.set(id, sheet);
    this.#loadedBytes += sheet.data.length;
    for (const oldest of this.#loaded.keys()) {
      if (this.#loadedBytes <= MAX_LOADED_BYTES || oldest === id) break;
      this.#unload(oldest);
    }
  }

  #unload(id: number): void {
    this.#loadedBytes -= this.#loaded.get(id)?.data.length ?? 0;
    this.#loaded.delete(id);
  }
}

/** All that is not filed yet, as a rule: readers of a thousand partitions ask for the same sheets again and again. */
const MAX_LOADED_BYTES = 12 * 1_048_576;

/** The bytes of a piece out of those of its sheet. */
export function cut({ firstSeq, idsFrom, idsTo, dataFrom, dataTo }: Piece, data: Buffer): Batch {
  return { firstSeq, ids: data.subarray(idsFrom, idsTo), data: data.subarray(dataFrom, dataTo) };
}

function meets({ minIdt, maxIdt }: Piece, firstMs: number, lastMs: number): boolean {
  return minIdt !== null && maxIdt !== null && minIdt <= lastMs && maxIdt >= firstMs;
}
