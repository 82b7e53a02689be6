/**
 * Appends ahead of the writing thread, for a store that one process has for itself. A few small appends need not go through
 * two threads and a transaction before they are answered: their seqs follow from those given before, and the event
 * loop writes and syncs them itself, in a file that has its full size already. The writing thread takes them over into the
 * store a little later, many at a time (P1: they are on disk; P2: nobody else gives seqs).
 *
 * Only while the thread has nothing else to do: under load, large batches and the thread are faster. And only while the disk is
 * quick: after a slow sync the thread, which may wait, has its turn for a while.
 */
import type { EventDraft, Seq } from "../../../model/event.js";
import { JsonWriter } from "../../batch-json.js";
import type { AheadStart, AppendAnswer, AppendRequest, Request } from "../protocol.js";
import { SEQS } from "../schema.js";
import type { AheadDisk } from "./ahead-disk.js";
import { AheadIds } from "./ahead-ids.js";
import { AHEAD_BYTES } from "./ahead-image.js";
import { beginOne, bytesOf, lastSeqOf, type PromisedAppend, sealOne, writeRecord } from "./ahead-record.js";

/** What is worth it: events and bytes of appends that are written together. */
const MAX_APPENDS = 16;
const MAX_BYTES = 8_192;
/** No record is longer. */
const RECORD_BYTES = MAX_BYTES * 4;
/** Bytes that wait for the writing thread before it is told, and at most. */
const APPLY_BYTES = 131_072;
const MAX_UNAPPLIED_BYTES = 262_144;
/** The event loop is not kept longer than this, as a rule: a slower sync sends so many groups through the thread, then twice as many. */
const SLOW_MS = 2;
const REST = 8;
const LONGEST_REST = 16_384;

/** Beyond it a partition is about to be full, which the thread decides. */
const LAST_HEAD = SEQS - 2 ** 20;

export class Ahead {
  readonly #disk: AheadDisk;
  readonly #slowMs: number;
  readonly #salt: number;
  readonly #ids: AheadIds;
  readonly #json = new JsonWriter();
  readonly #heads = new Map<string, Map<number, Seq>>();
  #serial = 0;
  #applied = 0;
  #at = 0;
  /** Lengths of the records that the store does not have yet, and their sum. */
  readonly #unapplied: number[] = [];
  #unappliedBytes = 0;
  #resting = 0;
  #rest = REST;

  constructor(disk: AheadDisk, { salt, idsSinceMs }: AheadStart, slowMs = SLOW_MS) {
    this.#disk = disk;
    this.#slowMs = slowMs;
    this.#salt = salt;
    this.#ids = new AheadIds(idsSinceMs);
  }

  /** The number of the last record. */
  get serial(): number {
    return this.#serial;
  }

  /** Whether something is on disk that the store does not have yet. */
  get isAhead(): boolean {
    return this.#serial > this.#applied;
  }

  /** Whether so much of it waits that the writing thread should take it over now. */
  get isMuch(): boolean {
    return this.#unappliedBytes >= APPLY_BYTES;
  }

  /** False once the device has failed. */
  get isOpen(): boolean {
    return this.#disk.isOpen;
  }

  /** Whether an append of these may be small enough. */
  fits(drafts: readonly EventDraft[]): boolean {
    if (!this.isOpen || drafts.length > MAX_APPENDS) return false;
    let bytes = 0;
    for (const { body } of drafts) bytes += body.size;
    return bytes <= MAX_BYTES;
  }

  /** The writing thread is going to be asked for these. */
  note(requests: readonly Request[]): void {
    for (const { name, argument } of requests)
      if (name === "append") this.#noteIds(argument as AppendRequest);
  }

  /** An append was answered by the writing thread. */
  learn(request: AppendRequest, answer: unknown): void {
    const { firstSeq, duplicates } =
      typeof answer === "number" ? { firstSeq: answer } : (answer as AppendAnswer);
    if (duplicates === undefined) this.#setHead(request, lastSeqOf({ request, firstSeq }));
    else this.#heads.delete(request.topic);
  }

  /**
   * The writing thread is to be asked before anything goes ahead: damage was marked, and it refuses appends to that partition from
   * now on, or a commit of its may have happened or not.
   */
  forgetHeads(): void {
    this.#heads.clear();
  }

  /** The store has records up to this one. */
  caughtUp(serial: number): void {
    for (; this.#applied < serial; this.#applied++) this.#unappliedBytes -= this.#unapplied.shift() ?? 0;
  }

  /**
   * Writes and syncs appends, and gives each the seq of its first event; undefined if they are better sent to the writing thread,
   * and nothing was done. Throws if the device failed: nobody knows what is on disk then.
   */
  write(requests: readonly Request[]): Seq[] | undefined {
    if (requests.length > MAX_APPENDS || !this.#isReady()) return undefined;
    const appends = this.#promise(requests);
    if (appends === undefined || !this.#put(appends)) return undefined;
    return appends.map(({ firstSeq }) => firstSeq);
  }

  /** As `write`, of one append: encoded in its record. */
  writeOne(topic: string, partition: number, drafts: readonly EventDraft[]): Seq | undefined {
    const heads = this.#heads.get(topic);
    const head = heads?.get(partition);
    // Who is refused here asks again by `write`, and is counted there.
    if (heads === undefined || !isKnown(head) || this.#resting > 0 || !this.#isReady()) return undefined;
    const record = this.#disk.room(this.#at, RECORD_BYTES);
    const layout = beginOne(record, topic, partition, head + 1, drafts, this.#json);
    if (layout === undefined || bytesOf({ layout }) > MAX_BYTES) return undefined;
    if (!this.#ids.add(record, layout) && !drafts.every(({ freshId }) => freshId)) return undefined;
    const length = sealOne(record, layout, this.#salt, this.#serial + 1);
    this.#sync(length);
    heads.set(partition, head + drafts.length);
    return head + 1;
  }

  close(): void {
    this.#disk.close();
  }

  /** The seqs that they will have; undefined if one of them needs a look at the store. */
  #promise(requests: readonly Request[]): PromisedAppend[] | undefined {
    const appends: PromisedAppend[] = [];
    let bytes = 0;
    for (const { name, argument } of requests) {
      if (name !== "append") return undefined;
      const request = argument as AppendRequest;
      const head = promisedHead(appends, request) ?? this.#heads.get(request.topic)?.get(request.partition);
      bytes += bytesOf(request);
      if (!isKnown(head) || bytes > MAX_BYTES || !this.#isPlain(request)) return undefined;
      appends.push({ request, firstSeq: head + 1 });
    }
    return appends;
  }

  #isPlain(request: AppendRequest): boolean {
    const areNew = this.#noteIds(request);
    return (areNew || request.check === "none") && request.fence === undefined && request.layout.length > 0;
  }

  #noteIds({ buffer, layout }: AppendRequest): boolean {
    return this.#ids.add(new Uint8Array(buffer), layout);
  }

  /** Whether there is a file that takes more, and no need to leave the disk alone. */
  #isReady(): boolean {
    if (!this.isOpen || this.#unappliedBytes >= MAX_UNAPPLIED_BYTES) return false;
    if (this.#resting > 0) {
      this.#resting--;
      return false;
    }
    // From the beginning again: what the store does not have yet is a small part of the file, and stands at its end then.
    if (this.#at + RECORD_BYTES > AHEAD_BYTES) this.#at = 0;
    return true;
  }

  /** Writes and syncs them; false, with nothing done, if there is no room. */
  #put(appends: readonly PromisedAppend[]): boolean {
    const record = this.#disk.room(this.#at, RECORD_BYTES);
    const length = writeRecord(record, appends, this.#salt, this.#serial + 1);
    if (length === 0) return false;
    this.#sync(length);
    for (const append of appends) this.#setHead(append.request, lastSeqOf(append));
    return true;
  }

  #sync(length: number): void {
    const startMs = performance.now();
    this.#disk.write(this.#at, length);
    this.#serial++;
    this.#at += length;
    this.#unapplied.push(length);
    this.#unappliedBytes += length;
    if (performance.now() - startMs <= this.#slowMs) {
      this.#rest = REST;
      return;
    }
    this.#resting = this.#rest;
    this.#rest = Math.min(this.#rest * 2, LONGEST_REST);
  }

  #setHead({ topic, partition }: AppendRequest, head: Seq): void {
    const heads = this.#heads.get(topic);
    if (heads === undefined) this.#heads.set(topic, new Map([[partition, head]]));
    else heads.set(partition, head);
  }
}

/** The last seq promised to earlier ones of the same group. */
function promisedHead(
  appends: readonly PromisedAppend[],
  { topic, partition }: AppendRequest,
): Seq | undefined {
  const last = appends.findLast(({ request }) => request.topic === topic && request.partition === partition);
  return last && lastSeqOf(last);
}

function isKnown(head: Seq | undefined): head is Seq {
  return head !== undefined && head <= LAST_HEAD;
}
