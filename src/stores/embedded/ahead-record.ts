/**
 * Records of the file ahead: appends that were promised their seqs and synced before the store file had them. One record is
 * what was written and synced together:
 *
 *   crc u32 · length u32 · salt f64 · serial f64 · length of the head u32 · head, as JSON · bytes of the batches
 *
 * The checksum covers all that stands behind it. The salt tells the records of one opening of the store from those of
 * others, the serial grows by one with each record.
 */
import { crc32 } from "node:zlib";
import type { Seq } from "../../model/event.js";
import { LAYOUT } from "../batch-encoder.js";
import type { AppendRequest } from "./protocol.js";

const FIXED_BYTES = 28;

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

type Head = readonly [topic: string, partition: number, firstSeq: Seq, layout: readonly number[]][];

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
  o: { readonly salt: number; readonly serial: number },
): number {
  let at = 0;
  const head: Head = appends.map(({ request, firstSeq }) => {
    const { topic, partition } = request;
    const layout = moved(request.layout, at - (request.layout[1] ?? 0));
    at += bytesOf(request);
    return [topic, partition, firstSeq, layout];
  });
  const text = JSON.stringify(head);
  if (FIXED_BYTES + text.length * 3 + at > target.length) return 0;
  const headBytes = target.write(text, FIXED_BYTES, "utf8");
  let end = FIXED_BYTES + headBytes;
  for (const { request } of appends) {
    const bytes = bytesOf(request);
    target.set(new Uint8Array(request.buffer, request.layout[1], bytes), end);
    end += bytes;
  }
  target.writeUInt32LE(end, 4);
  target.writeDoubleLE(o.salt, 8);
  target.writeDoubleLE(o.serial, 16);
  target.writeUInt32LE(headBytes, 24);
  target.writeUInt32LE(crc32(target.subarray(4, end)), 0);
  return end;
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
  if (source.readDoubleLE(start + 8) !== salt || found !== (serial ?? found)) return undefined;
  if (crc32(source.subarray(start + 4, end)) !== source.readUInt32LE(start)) return undefined;
  const headEnd = start + FIXED_BYTES + source.readUInt32LE(start + 24);
  const head = JSON.parse(source.toString("utf8", start + FIXED_BYTES, headEnd)) as Head;
  const appends = head.map(([topic, partition, firstSeq, layout]) => ({
    request: {
      topic,
      partition,
      buffer: source.buffer as ArrayBuffer,
      layout: moved(layout, source.byteOffset + headEnd),
      check: "none" as const,
      fence: undefined,
    },
    firstSeq,
  }));
  return { serial: found, appends, end };
}

/** A layout of the same batches that lie `by` bytes further on. */
function moved(layout: readonly number[], by: number): number[] {
  return layout.map((number, i) => (i % LAYOUT === 0 || i % LAYOUT === LAYOUT - 1 ? number : number + by));
}
