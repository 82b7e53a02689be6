/**
 * A sheet as bytes: small batches ("pieces") of many partitions in one row.
 *
 *   directory: version u8 · checksum of what follows u32 · checksum of the data u32 · an entry for each piece
 *   data:      the ids of all pieces, one behind the other, then the data of all pieces
 *
 * Where a piece lies in the data follows from the lengths of those before it.
 */
import { crc32 } from "node:zlib";
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
}

export interface DecodedSheet {
  readonly pieces: readonly Piece[];
  /** Checksum that the data must have. */
  readonly crc: number;
  /** Length of the data, and of the ids at its beginning. */
  readonly bytes: number;
  readonly idsBytes: number;
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

export function encodeSheet(batches: readonly BatchToWrite[]): EncodedSheet {
  const directory = Buffer.allocUnsafe(HEAD_BYTES + batches.length * ENTRY_BYTES);
  const data = Buffer.concat([...batches.map(({ ids }) => ids), ...batches.map((batch) => batch.data)]);
  let at = HEAD_BYTES;
  for (const batch of batches) {
    directory.writeUInt32LE(batch.part, at + PART);
    directory.writeUIntLE(batch.firstSeq, at + FIRST_SEQ, 6);
    directory.writeUInt16LE(batch.count, at + COUNT);
    directory.writeUInt16LE(batch.indexed, at + INDEXED);
    directory.writeUInt32LE(batch.ids.length, at + IDS_BYTES);
    directory.writeUInt32LE(batch.data.length, at + DATA_BYTES);
    directory.writeDoubleLE(batch.maxTs, at + MAX_TS);
    directory.writeDoubleLE(batch.runTs, at + RUN_TS);
    directory.writeUIntLE(batch.minIdt ?? 0, at + MIN_IDT, 6);
    directory.writeUInt16LE((batch.maxIdt ?? 0) - (batch.minIdt ?? 0), at + SPAN);
    at += ENTRY_BYTES;
  }
  directory[0] = VERSION;
  directory.writeUInt32LE(crc32(data), CHECKED_FROM);
  directory.writeUInt32LE(crc32(directory.subarray(CHECKED_FROM)), 1);
  return { directory, data };
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
  return { pieces, crc: directory.readUInt32LE(CHECKED_FROM), bytes: dataFrom, idsBytes };
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
  const { sheet, idsFrom, idsTo, dataFrom, dataTo } = place;
  return {
    part: directory.readUInt32LE(at + PART),
    firstSeq,
    lastSeq: firstSeq + count - 1,
    count,
    bytes: idsTo - idsFrom + dataTo - dataFrom,
    maxTs: directory.readDoubleLE(at + MAX_TS),
    runTs: directory.readDoubleLE(at + RUN_TS),
    minIdt: minIdt === 0 ? null : minIdt,
    maxIdt: minIdt === 0 ? null : minIdt + directory.readUInt16LE(at + SPAN),
    indexed: directory.readUInt16LE(at + INDEXED),
    // Its bytes are checked with those of the whole sheet.
    crc: 0,
    sheet,
    idsFrom,
    idsTo,
    dataFrom,
    dataTo,
  };
}
