/**
 * Import: events from NDJSON, streamed in bounded batches. Idempotent by id (P3): what is there already is counted, not
 * added again, so an import that was interrupted can simply be repeated, or go on under a name.
 *
 * The first line that is wrong ends it, with its number in the error; what came before it is in.
 */
import { addToList } from "../model/add-to-list.js";
import { derivedId } from "../model/derived-id.js";
import { BusError } from "../model/errors.js";
import type { PublishedRecord, PublishItem } from "../model/event-bus.js";
import { checkOptionNames, namesOf } from "../model/known-options.js";
import { type TopicRef, topicName } from "../model/topic.js";
import { checkHost, type Host } from "./host.js";
import { LineSplitter, lineError, type NdjsonLine } from "./ndjson.js";
import { checkFunctions, checkObject, checkRange } from "./option-checks.js";
import { ResumePoint } from "./resume-point.js";
import { finiteTask } from "./running-task.js";

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
  const point = await ResumePoint.load<{ lines: number }>(host.store.registry, "import", options.resume);
  const importer = new Importer(host, options, point.value?.lines ?? 0);
  const { clock, tasks } = host;
  const name = `import ${options.topic === undefined ? "*" : topicName(options.topic)}`;
  const task = finiteTask(
    { kind: "import", name, clock, board: tasks, stats: () => ({ ...importer.result }) },
    async (stopped) => {
      const signal = options.signal === undefined ? stopped : AbortSignal.any([stopped, options.signal]);
      await importer.run(source, (lines) => point.save({ lines }), signal);
      if (importer.result.complete) await point.forget();
    },
  );
  await task.done;
  return importer.result;
}

interface Pending {
  readonly line: number;
  readonly topic: TopicRef;
  readonly item: PublishItem;
  readonly chars: number;
}

class Importer {
  readonly #host: Host;
  readonly #options: ImportOptions;
  readonly #skipThrough: number;
  readonly #counts = { lines: 0, imported: 0, duplicates: 0 };
  #batch: Pending[] = [];
  #chars = 0;
  #complete = false;

  constructor(host: Host, options: ImportOptions, skipThrough: number) {
    this.#host = host;
    this.#options = options;
    this.#skipThrough = skipThrough;
  }

  get result(): Imported {
    return { ...this.#counts, complete: this.#complete };
  }

  async run(
    source: NdjsonSource,
    save: (lines: number) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const lines = linesOf(source, this.#options.maxLineBytes ?? MAX_LINE_BYTES);
    try {
      await this.#take(lines, save, signal);
    } finally {
      const closed = lines.return(undefined).catch(() => undefined);
      // One that has stalled may never say that it is closed.
      if (!signal.aborted) await closed;
    }
    this.#complete = !signal.aborted;
  }

  async #take(
    lines: AsyncGenerator<NdjsonLine>,
    save: (lines: number) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    let saved = this.#skipThrough;
    const flush = async (atOnce: boolean): Promise<void> => {
      await this.#flush();
      if (this.#counts.lines < saved + (atOnce ? 1 : SAVE_EVERY_LINES)) return;
      await save(this.#counts.lines);
      saved = this.#counts.lines;
    };
    for (;;) {
      let pending: Pending | null;
      try {
        pending = await this.#next(lines, signal);
      } catch (error) {
        // What stands before the wrong line is in.
        await flush(true);
        throw error;
      }
      if (pending === null) break;
      this.#batch.push(pending);
      this.#chars += pending.chars;
      if (this.#batch.length >= BATCH_EVENTS || this.#chars >= BATCH_CHARS) await flush(false);
    }
    await flush(true);
  }

  /** The next line that is not done yet; null at the end, or when it is to stop. */
  async #next(lines: AsyncGenerator<NdjsonLine>, signal: AbortSignal): Promise<Pending | null> {
    for (;;) {
      const next = await unlessAborted(() => lines.next(), signal);
      if (next === null || next.done) return null;
      if (next.value.number > this.#skipThrough) return pendingOf(next.value, this.#options);
    }
  }

  async #flush(): Promise<void> {
    const batch = this.#batch;
    const last = batch.at(-1);
    if (last === undefined) return;
    this.#batch = [];
    this.#chars = 0;
    const byTopic = new Map<string, Pending[]>();
    for (const pending of batch) {
      const name = topicName(pending.topic);
      addToList(byTopic, name, pending);
    }
    for (const list of byTopic.values()) await this.#publish(list);
    this.#counts.lines = last.line;
    this.#options.onProgress?.(this.result);
  }

  async #publish(list: readonly Pending[]): Promise<void> {
    const { topic } = list[0] as Pending;
    try {
      const items = list.map(({ item }) => item);
      this.#count(await this.#host.publishMany(topic, items));
    } catch (error) {
      const failed = BusError.from(error).details?.failed as { index: number }[] | undefined;
      // Refused as a whole before anything was sent: line by line it shows which one is wrong.
      if (failed === undefined) return this.#publishSingly(list);
      const first = failed.reduce((least, { index }) => Math.min(least, index), list.length);
      throw lineError(list[first]?.line ?? 0, BusError.from((error as BusError).cause ?? error));
    }
  }

  async #publishSingly(list: readonly Pending[]): Promise<void> {
    for (const { topic, item, line } of list) {
      const { payload, ...options } = item;
      try {
        this.#count([await this.#host.publish(topic, payload, options)]);
      } catch (error) {
        throw lineError(line, BusError.from(error));
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

async function* linesOf(source: NdjsonSource, maxBytes: number): AsyncGenerator<NdjsonLine> {
  const splitter = new LineSplitter(maxBytes);
  const whole = typeof source === "string" || source instanceof Uint8Array;
  if (whole || !(Symbol.asyncIterator in source)) {
    for (const piece of whole ? [source] : (source as Iterable<string | Uint8Array>)) {
      yield* splitter.push(bufferOf(piece));
      if (typeof piece === "string" && !piece.endsWith("\n")) yield* splitter.push(NEWLINE);
    }
  } else {
    for await (const chunk of source) yield* splitter.push(bufferOf(chunk));
  }
  yield* splitter.end();
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

function pendingOf({ number, text }: NdjsonLine, options: ImportOptions): Pending {
  const line = parse(number, text);
  const topic = options.topic ?? line.topic;
  if (typeof topic !== "string" && typeof topic !== "object") {
    throw lineError(number, new BusError("INVALID_TOPIC", 'it names no "topic", and none was given'));
  }
  if (!("payload" in line)) throw lineError(number, invalid('it has no "payload"'));
  const { id, ts, key, headers, tags, caused_by, sid, payload, partition } = line;
  const given = Object.entries({ ts, key, headers, tags, caused_by, sid }).filter(
    ([, value]) => value != null,
  );
  return {
    line: number,
    topic,
    chars: text.length,
    item: {
      ...(Object.fromEntries(given) as Omit<PublishItem, "payload">),
      payload,
      ...idOf(id, number, text, options),
      ...(options.keepPartitions && partition !== undefined ? { partition } : undefined),
    },
  };
}

/** A line without an id is new each time, unless the import has a name: then the line's place and text make one. */
function idOf(id: string | undefined, number: number, text: string, options: ImportOptions): { id?: string } {
  if (id !== undefined) return { id };
  return options.resume === undefined ? {} : { id: derivedId(`import ${options.resume}`, text, number) };
}

type Line = Partial<PublishItem> & { readonly topic?: string };

function parse(number: number, text: string): Line {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw lineError(number, new BusError("INVALID_PAYLOAD", "it is not JSON", { cause: error }));
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Line;
  throw lineError(number, invalid("it is not an object with an event's fields"));
}

function invalid(message: string): BusError {
  return new BusError("INVALID_PAYLOAD", message);
}
