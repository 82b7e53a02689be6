/**
 * Import: events from NDJSON, streamed in bounded batches. Idempotent by id (P3): what is there already is counted, not
 * added again, so an import that was interrupted can simply be repeated, or go on under a name.
 *
 * The first line that is wrong ends it, with its number in the error; what came before it is in.
 */
import { addToList } from "../../model/add-to-list.js";
import { BusError } from "../../model/errors.js";
import type { PublishedRecord } from "../../model/event-bus.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import { type TopicRef, topicName } from "../../model/topic.js";
import { checkHost, type Host } from "../host.js";
import { checkFunctions, checkObject, checkRange } from "../option-checks.js";
import { finiteTask } from "../running-task.js";
import { type ImportLine, importLine } from "./import-line.js";
import { LineSplitter, lineError, type NdjsonLine } from "./ndjson.js";
import { ResumePoint } from "./resume-point.js";

/** Bytes or text, whole or in any pieces; of what is no stream (an array, say), each string is a line. */
export type NdjsonSource =
  | AsyncIterable<string | Uint8Array>
  | Iterable<string | Uint8Array>
  | string
  | Uint8Array;

/** Where imported events go, and how an import that was stopped goes on. */
export interface ImportOptions {
  /** Default: the topic that each line names. */
  readonly topic?: TopicRef;
  /** Put each event into the partition its line names, rather than where its key belongs. */
  readonly keepPartitions?: boolean;
  /** Default 1 MiB for the payload and 64 KiB for the rest. */
  readonly maxLineBytes?: number;
  /** Under this name the import keeps its place; repeated, it passes over the lines that are done. */
  readonly resume?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (imported: Imported) => void;
}

const OPTIONS = namesOf<ImportOptions>({
  topic: true,
  keepPartitions: true,
  maxLineBytes: true,
  resume: true,
  signal: true,
  onProgress: true,
});

/** What an import has done. */
export interface Imported {
  /** Lines read, up to and including the last one that is done. */
  readonly lines: number;
  /** Events that were added. */
  readonly imported: number;
  /** Events that were there before. */
  readonly duplicates: number;
  /** False if it was stopped before the end. */
  readonly complete: boolean;
}

const MAX_LINE_BYTES = 1_048_576 + 65_536;
const BATCH_EVENTS = 500;
const BATCH_CHARS = 1_048_576;
const SAVE_EVERY_LINES = 5_000;

/**
 * Publishes the lines of an export. Events that are there already are counted only (P3).
 *
 * @example
 * const { imported, duplicates } = await importEvents(bus, createReadStream("orders.ndjson"), { topic: "orders" });
 */
export async function importEvents(
  host: Host,
  source: NdjsonSource,
  options: ImportOptions = {},
): Promise<Imported> {
  checkHost(host);
  checkSource(source);
  checkObject("importEvents", options);
  checkOptionNames("importEvents", options, OPTIONS);
  checkRange("maxLineBytes", options.maxLineBytes, 1);
  checkFunctions({ onProgress: options.onProgress });
  const place = await ResumePoint.load<{ lines: number }>(host.store.registry, "import", options.resume);
  const importer = new Importer(host, options, place);
  const { clock, tasks } = host;
  const name = `import ${options.topic === undefined ? "*" : topicName(options.topic)}`;
  const task = finiteTask(
    { kind: "import", name, clock, board: tasks, stats: () => ({ ...importer.result }) },
    async (stopped) => {
      const signal = options.signal === undefined ? stopped : AbortSignal.any([stopped, options.signal]);
      await importer.run(source, signal);
      if (importer.result.complete) await place.forget();
    },
  );
  await task.done;
  return importer.result;
}

class Importer {
  readonly #host: Host;
  readonly #options: ImportOptions;
  readonly #save: (lines: number) => Promise<void>;
  readonly #skipThrough: number;
  readonly #counts = { lines: 0, imported: 0, duplicates: 0 };
  /** Lines that were read while others are on their way. */
  #batch: ImportLine[] = [];
  #chars = 0;
  #sending: Promise<void> | undefined;
  #savedThrough: number;
  /** Aborts, with the reason, once something could not be published: its source may well stall then. */
  readonly #refused = new AbortController();
  #complete = false;

  constructor(host: Host, options: ImportOptions, place: ResumePoint<{ lines: number }>) {
    this.#host = host;
    this.#options = options;
    this.#save = (lines) => place.save({ lines });
    this.#skipThrough = place.value?.lines ?? 0;
    this.#savedThrough = this.#skipThrough;
  }

  get result(): Imported {
    return { ...this.#counts, complete: this.#complete };
  }

  async run(source: NdjsonSource, signal: AbortSignal): Promise<void> {
    const chunks = chunksOf(source);
    const over = AbortSignal.any([signal, this.#refused.signal]);
    try {
      await this.#readAll(chunks, over);
    } finally {
      const closed = chunks.return(undefined).catch(() => undefined);
      // What stands before a wrong line is in.
      await this.#sendRest();
      // One that has stalled may never say that it is closed.
      if (!over.aborted) await closed;
    }
    this.#complete = !over.aborted;
  }

  async #readAll(chunks: AsyncGenerator<Buffer>, over: AbortSignal): Promise<void> {
    const splitter = new LineSplitter(this.#options.maxLineBytes ?? MAX_LINE_BYTES);
    for (;;) {
      const next = await unlessAborted(() => chunks.next(), over);
      if (next === null) return;
      if (next.done) return this.#take(splitter.end(), over);
      await this.#take(splitter.push(next.value), over);
      // A source that trickles must not keep anybody waiting.
      this.#send();
    }
  }

  async #take(lines: Iterable<NdjsonLine>, over: AbortSignal): Promise<void> {
    for (const line of lines) {
      if (over.aborted) return;
      if (line.number <= this.#skipThrough) continue;
      this.#batch.push(importLine(line, this.#options));
      this.#chars += line.text.length;
      if (!this.#isFull) continue;
      this.#send();
      while (this.#isFull && !over.aborted) await this.#sending;
    }
  }

  get #isFull(): boolean {
    return this.#batch.length >= BATCH_EVENTS || this.#chars >= BATCH_CHARS;
  }

  /** One batch after the other: what comes later must not be there if this one fails (P4). */
  #send(): void {
    if (this.#sending !== undefined || this.#batch.length === 0) return;
    this.#sending = this.#flush().then(
      () => {
        this.#sending = undefined;
        this.#send();
      },
      (error) => {
        this.#sending = undefined;
        this.#batch = [];
        this.#chars = 0;
        this.#refused.abort(error);
      },
    );
  }

  async #sendRest(): Promise<void> {
    this.#send();
    while (this.#sending !== undefined) await this.#sending;
    if (this.#counts.lines > this.#savedThrough) await this.#save(this.#counts.lines);
    this.#refused.signal.throwIfAborted();
  }

  async #flush(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#chars = 0;
    const byTopic = new Map<string, ImportLine[]>();
    for (const line of batch) addToList(byTopic, topicName(line.topic), line);
    const outcomes = await Promise.allSettled([...byTopic.values()].map((lines) => this.#publish(lines)));
    const wrong = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    if (wrong.length === 0) this.#counts.lines = batch.at(-1)?.number ?? this.#counts.lines;
    // Also if it failed: what stands before the wrong line is in.
    this.#options.onProgress?.(this.result);
    if (wrong.length > 0) throw firstOf(wrong);
    if (this.#counts.lines < this.#savedThrough + SAVE_EVERY_LINES) return;
    await this.#save(this.#counts.lines);
    this.#savedThrough = this.#counts.lines;
  }

  async #publish(lines: readonly ImportLine[]): Promise<void> {
    const { topic } = lines[0] as ImportLine;
    try {
      const items = lines.map(({ item }) => item);
      this.#count(await this.#host.publishMany(topic, items));
    } catch (error) {
      const failed = BusError.from(error).details?.failed as { index: number }[] | undefined;
      // Refused as a whole before anything was sent: line by line it shows which one is wrong.
      if (failed === undefined) return this.#publishSingly(lines);
      const first = failed.reduce((least, { index }) => Math.min(least, index), lines.length);
      throw lineError(lines[first]?.number ?? 0, BusError.from((error as BusError).cause ?? error));
    }
  }

  async #publishSingly(lines: readonly ImportLine[]): Promise<void> {
    for (const { topic, item, number } of lines) {
      const { payload, ...options } = item;
      try {
        this.#count([await this.#host.publish(topic, payload, options)]);
      } catch (error) {
        throw lineError(number, BusError.from(error));
      }
    }
  }

  #count(published: readonly PublishedRecord[]): void {
    for (const { duplicate } of published) {
      if (duplicate) this.#counts.duplicates++;
      else this.#counts.imported++;
    }
  }
}

/** Of several errors, the one of the first line. */
function firstOf(errors: readonly unknown[]): unknown {
  const lineIn = (error: unknown): number => Number(BusError.from(error).details?.line ?? 0);
  return errors.reduce((first, error) => (lineIn(error) < lineIn(first) ? error : first));
}

async function* chunksOf(source: NdjsonSource): AsyncGenerator<Buffer> {
  const whole = typeof source === "string" || source instanceof Uint8Array;
  if (!whole && Symbol.asyncIterator in source) {
    for await (const chunk of source) yield bufferOf(chunk);
    return;
  }
  for (const piece of whole ? [source] : (source as Iterable<string | Uint8Array>)) {
    yield bufferOf(piece);
    if (typeof piece === "string" && !piece.endsWith("\n")) yield NEWLINE;
  }
}

/** Null once the signal aborts: a source that has stalled must not keep anybody from stopping. */
async function unlessAborted<R>(ask: () => Promise<R>, signal: AbortSignal): Promise<R | null> {
  if (signal.aborted) return null;
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<null>((resolve) => {
    onAbort = () => resolve(null);
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([ask(), aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function checkSource(source: unknown): void {
  const pieces = Object(source) as { [Symbol.iterator]?: unknown; [Symbol.asyncIterator]?: unknown };
  if (typeof source === "string" || pieces[Symbol.iterator] || pieces[Symbol.asyncIterator]) return;
  throw new BusError(
    "INVALID_OPTION",
    "importEvents reads text or bytes: a stream, an array of lines, a string",
  );
}

const NEWLINE = Buffer.from("\n");

function bufferOf(chunk: unknown): Buffer {
  if (typeof chunk === "string") return Buffer.from(chunk, "utf8");
  if (chunk instanceof Uint8Array) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  throw new BusError("INVALID_OPTION", "importEvents reads text or bytes");
}
