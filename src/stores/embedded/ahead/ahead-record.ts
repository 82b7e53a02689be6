/**
 * Records of the file ahead: appends that were promised their seqs and synced before the store file had them. One record is
 * what was written and synced together:
 *
 *   crc u32 · length u32 · salt f64 · serial f64 · length of the head u32 · head · bytes of the batches
 *
 * The checksum covers all that stands behind it. The salt tells the records of one opening of the store from those of
 * others, the serial grows by one with each record. The head says of each append where it goes, and where its batches lie
 * behind the head:
 *
 *   1 u8, then for each append: length of the topic u16 · topic · partition u32 · first seq f64 · batches u16 · layout of each, f64
 *
 * Earlier builds wrote the same as JSON. Numbers as text take as long as the rest of the record.
 */
import { crc32 } from "node:zlib";
import type { EventDraft, Seq } from "../../../model/event.js";
import { encodeAt, LAYOUT } from "../../batch-encoder.js";
import type { JsonWriter } from "../../batch-json.js";
import type { AppendRequest } from "../protocol.js";

const FIXED_BYTES = 28;
/** Where the salt stands in a record. */
const SALT_AT = 8;
/** With which a head begins that is not JSON. */
const IN_BYTES = 1;
/** Behind the topic in a head, before the layouts. */
const PLACE_BYTES = 14;
const LAYOUT_BYTES = LAYOUT * 8;

/** An append and the seq that its first event was promised. */
export interface PromisedAppend {
  readonly request: AppendRequest;
  readonly firstSeq: Seq;
}

export interface AheadRecord {
  readonly serial: number;
  readonly appends: readonly PromisedAppend[];
  /** Where the next one begins. */
  readonly end: number;
}

type AppendHead = readonly [topic: string, partition: number, firstSeq: Seq, layout: readonly number[]];

/** Bytes of an append's batches: they lie one behind the other. */
export function bytesOf({ layout }: Pick<AppendRequest, "layout">): number {
  return (layout[layout.length - 2] ?? 0) - (layout[1] ?? 0);
}

/** The seq of its last event. */
export function lastSeqOf({ request, firstSeq }: PromisedAppend): Seq {
  return firstSeq + countOf(request) - 1;
}

export function countOf({ layout }: Pick<AppendRequest, "layout">): number {
  let count = 0;
  for (let i = 0; i < layout.length; i += LAYOUT) count += layout[i] as number;
  return count;
}

/** Writes a record into `target` and returns its length; 0 if there is not room enough. */
export function writeRecord(
  target: Buffer,
  appends: readonly PromisedAppend[],
  salt: number,
  serial: number,
): number {
  if (mostBytes(appends) > target.length) return 0;
  let at = FIXED_BYTES;
  target[at++] = IN_BYTES;
  let bytes = 0;
  for (const { request, firstSeq } of appends) {
    const { topic, partition, layout } = request;
    at = writePlace(target, at, topic, partition, firstSeq, layout.length / LAYOUT);
    at = writeLayout(target, at, layout, bytes - (layout[1] ?? 0));
    bytes += bytesOf(request);
  }
  const headEnd = at;
  for (const { request } of appends) {
    target.set(new Uint8Array(request.buffer, request.layout[1], bytesOf(request)), at);
    at += bytesOf(request);
  }
  return seal(target, headEnd, at, salt, serial);
}

/**
 * Begins a record of one append, a batch that is encoded where it will stand. Its layout, as it lies in `target`, tells all
 * that `sealOne` needs; undefined if there is not room enough.
 */
export function beginOne(
  target: Buffer,
  topic: string,
  partition: number,
  firstSeq: Seq,
  drafts: readonly EventDraft[],
  json: JsonWriter,
): readonly number[] | undefined {
  const most = FIXED_BYTES + 3 + topic.length * 3 + PLACE_BYTES + LAYOUT_BYTES;
  if (most * 2 > target.length) return undefined;
  target[FIXED_BYTES] = IN_BYTES;
  const layoutAt = writePlace(target, FIXED_BYTES + 1, topic, partition, firstSeq, 1);
  const headEnd = layoutAt + LAYOUT_BYTES;
  const layout = encodeAt(target, headEnd, drafts, json);
  if (layout?.length !== LAYOUT) return undefined;
  writeLayout(target, layoutAt, layout, -headEnd);
  return layout;
}

/** Completes what `beginOne` began, and returns its length. */
export function sealOne(target: Buffer, layout: readonly number[], salt: number, serial: number): number {
  return seal(target, layout[1] as number, layout[4] as number, salt, serial);
}

function seal(target: Buffer, headEnd: number, end: number, salt: number, serial: number): number {
  target.writeUInt32LE(end, 4);
  target.writeDoubleLE(salt, SALT_AT);
  target.writeDoubleLE(serial, 16);
  target.writeUInt32LE(headEnd - FIXED_BYTES, 24);
  target.writeUInt32LE(crc32(target.subarray(4, end)), 0);
  return end;
}

/** A record of these has no more. */
function mostBytes(appends: readonly PromisedAppend[]): number {
  let bytes = FIXED_BYTES + 1;
  for (const { request } of appends)
    bytes += 2 + request.topic.length * 3 + PLACE_BYTES + request.layout.length * 8 + bytesOf(request);
  return bytes;
}

/** Returns where the layouts of its batches begin. */
function writePlace(
  target: Buffer,
  from: number,
  topic: string,
  partition: number,
  firstSeq: Seq,
  batches: number,
): number {
  const topicBytes = target.write(topic, from + 2, "utf8");
  target.writeUInt16LE(topicBytes, from);
  const at = from + 2 + topicBytes;
  target.writeUInt32LE(partition, at);
  target.writeDoubleLE(firstSeq, at + 4);
  target.writeUInt16LE(batches, at + 12);
  return at + PLACE_BYTES;
}

/** Of batches that lie `by` bytes further on. Returns where it ends. */
function writeLayout(target: Buffer, from: number, layout: readonly number[], by: number): number {
  for (let i = 0; i < layout.length; i++)
    target.writeDoubleLE((layout[i] as number) + (isOffset(i) ? by : 0), from + i * 8);
  return from + layout.length * 8;
}

/** The record of that salt, and serial, that stands at a place; undefined if there is none, or none that is whole. */
export function readRecord(
  source: Buffer,
  start: number,
  salt: number,
  serial?: number,
): AheadRecord | undefined {
  if (start + FIXED_BYTES > source.length) return undefined;
  const end = start + source.readUInt32LE(start + 4);
  if (end < start + FIXED_BYTES || end > source.length) return undefined;
  const found = source.readDoubleLE(start + 16);
  if (source.readDoubleLE(start + SALT_AT) !== salt || found !== (serial ?? found)) return undefined;
  if (crc32(source.subarray(start + 4, end)) !== source.readUInt32LE(start)) return undefined;
  const headEnd = start + FIXED_BYTES + source.readUInt32LE(start + 24);
  const appends = readHead(source, start + FIXED_BYTES, headEnd).map(
    ([topic, partition, firstSeq, layout]) => ({
      request: {
        topic,
        partition,
        buffer: source.buffer as ArrayBuffer,
        layout: moved(layout, source.byteOffset + headEnd),
        check: "none" as const,
        fence: undefined,
      },
      firstSeq,
    }),
  );
  return { serial: found, appends, end };
}

/** All whole records of that salt, wherever they stand. */
export function recordsIn(source: Buffer, salt: number): AheadRecord[] {
  const records: AheadRecord[] = [];
  if (salt === 0) return records;
  const mark = Buffer.alloc(8);
  mark.writeDoubleLE(salt);
  for (let at = source.indexOf(mark, SALT_AT); at >= 0; ) {
    const record = readRecord(source, at - SALT_AT, salt);
    if (record !== undefined) records.push(record);
    at = source.indexOf(mark, record === undefined ? at + 1 : record.end);
  }
  return records;
}

function readHead(source: Buffer, start: number, end: number): readonly AppendHead[] {
  if (source[start] !== IN_BYTES) return JSON.parse(source.toString("utf8", start, end));
  const appends: AppendHead[] = [];
  for (let at = start + 1; at < end; ) {
    const topicEnd = at + 2 + source.readUInt16LE(at);
    const topic = source.toString("utf8", at + 2, topicEnd);
    const numbers = source.readUInt16LE(topicEnd + 12) * LAYOUT;
    at = topicEnd + PLACE_BYTES;
    const from = at;
    const layout = Array.from({ length: numbers }, (_, i) => source.readDoubleLE(from + i * 8));
    appends.push([topic, source.readUInt32LE(topicEnd), source.readDoubleLE(topicEnd + 4), layout]);
    at += numbers * 8;
  }
  return appends;
}

/** A layout of the same batches that lie `by` bytes further on. */
function moved(layout: readonly number[], by: number): number[] {
  return layout.map((number, i) => (isOffset(i) ? number + by : number));
}

/** Whether this number of a layout is a place in the buffer. */
function isOffset(i: number): boolean {
  return i % LAYOUT !== 0 && i % LAYOUT !== LAYOUT - 1;
}
