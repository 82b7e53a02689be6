/**
 * A sheet as bytes: small batches ("pieces") of many partitions in one row.
 *
 *   directory: version u8 · checksum of what follows u32 · checksum of the data u32 · an entry for each piece
 *   data:      the ids of all pieces, one behind the other, then the data of all pieces
 *
 * Where a piece lies in the data follows from the lengths of those before it.
 */
import { crc32 } from "node:zlib";
import { ID_BYTES } from "../../id-key.js";
import type { BatchHead, BatchToWrite } from "./batches.js";

/** A batch that stands in a sheet, and where its bytes are. */
export interface Piece extends BatchHead {
  readonly sheet: number;
  readonly idsFrom: number;
  readonly idsTo: number;
  readonly dataFrom: number;
  readonly dataTo: number;
}

export interface EncodedSheet {
  readonly directory: Buffer;
  readonly data: Buffer;
  readonly crc: number;
  /** Length of the ids at the beginning of the data. */
  readonly idsBytes: number;
}

export interface DecodedSheet {
  readonly pieces: readonly Piece[];
  /** Checksum that the data must have. */
  readonly crc: number;
  /** Length of the data. */
  readonly bytes: number;
}

const VERSION = 1;
const HEAD_BYTES = 9;
/** Of no bytes at all, crc32 gives different answers, depending on where they are not: it begins behind the version. */
const CHECKED_FROM = 5;

// Offsets in an entry. No time of an id is 0, which stands for none; spans are short, seqs below 2^40.
const PART = 0;
const FIRST_SEQ = 4;
const COUNT = 10;
const INDEXED = 12;
const IDS_BYTES = 14;
const DATA_BYTES = 18;
const MAX_TS = 22;
const RUN_TS = 30;
const MIN_IDT = 38;
const SPAN = 44;
const ENTRY_BYTES = 46;

/** Among a thousand partitions nearly every event is a piece of its own: no view and no call more than needed. */
export function encodeSheet(batches: readonly BatchToWrite[]): EncodedSheet {
  let idsBytes = 0;
  let bytes = 0;
  for (const { ids, bytes: more } of batches) {
    idsBytes += ids.length;
    bytes += more;
  }
  const directory = Buffer.allocUnsafe(HEAD_BYTES + batches.length * ENTRY_BYTES);
  const data = Buffer.allocUnsafeSlow(bytes);
  const view = new DataView(directory.buffer, directory.byteOffset, directory.length);
  let at = HEAD_BYTES;
  let idsAt = 0;
  let dataAt = idsBytes;
  for (const batch of batches) {
    copyIds(batch.ids, data, idsAt);
    data.set(batch.data, dataAt);
    idsAt += batch.ids.length;
    dataAt += batch.data.length;
    const minIdt = batch.minIdt ?? 0;
    view.setUint32(at + PART, batch.part, true);
    setUint48(view, at + FIRST_SEQ, batch.firstSeq);
    view.setUint16(at + COUNT, batch.count, true);
    view.setUint16(at + INDEXED, batch.indexed, true);
    view.setUint32(at + IDS_BYTES, batch.ids.length, true);
    view.setUint32(at + DATA_BYTES, batch.data.length, true);
    view.setFloat64(at + MAX_TS, batch.maxTs, true);
    view.setFloat64(at + RUN_TS, batch.runTs, true);
    setUint48(view, at + MIN_IDT, minIdt);
    view.setUint16(at + SPAN, (batch.maxIdt ?? 0) - minIdt, true);
    at += ENTRY_BYTES;
  }
  const crc = crc32(data);
  directory[0] = VERSION;
  directory.writeUInt32LE(crc, CHECKED_FROM);
  directory.writeUInt32LE(crc32(directory.subarray(CHECKED_FROM)), 1);
  return { directory, data, crc, idsBytes };
}

function copyIds(ids: Uint8Array, target: Uint8Array, to: number): void {
  if (ids.length !== ID_BYTES) target.set(ids, to);
  // So few bytes are copied faster one by one.
  else for (let i = 0; i < ID_BYTES; i++) target[to + i] = ids[i] as number;
}

function setUint48(view: DataView, at: number, value: number): void {
  view.setUint32(at, value >>> 0, true);
  view.setUint16(at + 4, value / 2 ** 32, true);
}

/** What a directory will say of batches that were encoded. */
export function decodedSheet(
  sheet: number,
  batches: readonly BatchToWrite[],
  { data, crc, idsBytes }: EncodedSheet,
): DecodedSheet {
  const pieces: Piece[] = [];
  let idsFrom = 0;
  let dataFrom = idsBytes;
  for (const batch of batches) {
    const idsTo = idsFrom + batch.ids.length;
    const dataTo = dataFrom + batch.data.length;
    pieces.push(pieceOf(batch, { sheet, idsFrom, idsTo, dataFrom, dataTo }));
    idsFrom = idsTo;
    dataFrom = dataTo;
  }
  return { pieces, crc, bytes: data.length };
}

/** What a directory says, or undefined if it is damaged. */
export function decodeDirectory(sheet: number, directory: unknown): DecodedSheet | undefined {
  if (!isSound(directory)) return undefined;
  let idsBytes = 0;
  for (let at = HEAD_BYTES; at < directory.length; at += ENTRY_BYTES)
    idsBytes += directory.readUInt32LE(at + IDS_BYTES);
  const pieces: Piece[] = [];
  let idsFrom = 0;
  let dataFrom = idsBytes;
  for (let at = HEAD_BYTES; at < directory.length; at += ENTRY_BYTES) {
    const idsTo = idsFrom + directory.readUInt32LE(at + IDS_BYTES);
    const dataTo = dataFrom + directory.readUInt32LE(at + DATA_BYTES);
    pieces.push(pieceAt(directory, at, { sheet, idsFrom, idsTo, dataFrom, dataTo }));
    idsFrom = idsTo;
    dataFrom = dataTo;
  }
  return { pieces, crc: directory.readUInt32LE(CHECKED_FROM), bytes: dataFrom };
}

function isSound(directory: unknown): directory is Buffer {
  return (
    Buffer.isBuffer(directory) &&
    directory.length > HEAD_BYTES &&
    (directory.length - HEAD_BYTES) % ENTRY_BYTES === 0 &&
    directory[0] === VERSION &&
    crc32(directory.subarray(CHECKED_FROM)) === directory.readUInt32LE(1)
  );
}

type PlaceInSheet = Pick<Piece, "sheet" | "idsFrom" | "idsTo" | "dataFrom" | "dataTo">;

function pieceAt(directory: Buffer, at: number, place: PlaceInSheet): Piece {
  const firstSeq = directory.readUIntLE(at + FIRST_SEQ, 6);
  const count = directory.readUInt16LE(at + COUNT);
  const minIdt = directory.readUIntLE(at + MIN_IDT, 6);
  const head = {
    part: directory.readUInt32LE(at + PART),
    firstSeq,
    lastSeq: firstSeq + count - 1,
    count,
    bytes: place.idsTo - place.idsFrom + place.dataTo - place.dataFrom,
    maxTs: directory.readDoubleLE(at + MAX_TS),
    runTs: directory.readDoubleLE(at + RUN_TS),
    minIdt: minIdt === 0 ? null : minIdt,
    maxIdt: minIdt === 0 ? null : minIdt + directory.readUInt16LE(at + SPAN),
    indexed: directory.readUInt16LE(at + INDEXED),
  };
  return pieceOf(head, place);
}

/** Member by member: V8 gives an object that is spread and added to a hidden class of its own. */
function pieceOf(head: Omit<BatchHead, "crc">, place: PlaceInSheet): Piece {
  const { part, firstSeq, lastSeq, count, bytes, maxTs, runTs, minIdt, maxIdt, indexed } = head;
  const { sheet, idsFrom, idsTo, dataFrom, dataTo } = place;
  return {
    part,
    firstSeq,
    lastSeq,
    count,
    bytes,
    maxTs,
    runTs,
    minIdt,
    maxIdt,
    indexed,
    // Its bytes are checked with those of the whole sheet.
    crc: 0,
    sheet,
    idsFrom,
    idsTo,
    dataFrom,
    dataTo,
  };
}
