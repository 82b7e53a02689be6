/** The reading thread as the event loop sees it. Started by the first call, ended by close. */
import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { BusError } from "../../../model/errors.js";
import type { DocumentQuery } from "../../../ports/documents.js";
import type { DocumentRow } from "../documents/document-reader.js";
import { type PackedError, unpackError } from "../errors.js";
import type { CheckedStretch, Stretch } from "../log/checker.js";
import { endSoon, hasEnded, newEnd, type ReaderEnd } from "./reader-end.js";
import { startWorker } from "./worker-start.js";

/** What the reading thread can be asked to do. */
export interface LongReads {
  find(o: { view: string; query: DocumentQuery }): DocumentRow[];
  /** To a file that is open, and empty. Ends with ABORTED soon after `givenUp`, which both threads see, is not 0 any more. */
  backup(o: { target: string; file: number; givenUp: Int32Array }): void;
  /** A copy forgets the file ahead of the store that it was made of. */
  disown(o: { copy: string }): void;
  /** See Checker. */
  checkStructure(o: null): string[];
  checkPartitions(o: null): { stretches: Stretch[]; events: number };
  checkNext(o: Stretch): CheckedStretch;
}

export interface ReaderOptions {
  readonly path: string;
  readonly busyTimeoutMs: number;
}

/** What the thread is given to begin with. */
export interface ReaderStart extends ReaderOptions {
  readonly end: ReaderEnd;
}

export interface ReadRequest {
  readonly number: number;
  readonly name: keyof LongReads;
  readonly argument: unknown;
}

export type ReadReply =
  | { readonly number: number; readonly answer: unknown }
  | { readonly number: number; readonly error: PackedError };

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: BusError) => void;
}

/** A thread that was started, and who waits for it. */
interface Started {
  readonly worker: Worker;
  readonly waiting: Map<number, Waiting>;
  readonly end: ReaderEnd;
}

export class ReaderThread {
  readonly #options: ReaderOptions;
  #starting: Promise<Started> | undefined;
  /** Once it has started; one that failed is no longer it, while it ends. */
  #started: Started | undefined;
  #number = 0;
  #isClosed = false;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  async call<K extends keyof LongReads>(
    name: K,
    argument: Parameters<LongReads[K]>[0],
  ): Promise<ReturnType<LongReads[K]>> {
    if (this.#isClosed) throw this.#gone();
    this.#starting ??= this.#start();
    const { worker, waiting } = await this.#starting;
    const number = ++this.#number;
    return new Promise<unknown>((resolve, reject) => {
      worker.postMessage({ number, name, argument } satisfies ReadRequest);
      waiting.set(number, { resolve, reject });
      worker.ref();
    }) as Promise<ReturnType<LongReads[K]>>;
  }

  /** Reads under way fail with CLOSED at once; the thread ends when it is done with the one it is at. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const started = await this.#starting;
    if (started === undefined) return;
    const { worker, end } = started;
    const ended = once(worker, "exit");
    endSoon(end);
    worker.ref();
    worker.postMessage("close");
    this.#end(started, this.#gone());
    await ended;
  }

  async #start(): Promise<Started> {
    const end = newEnd();
    const worker = await startWorker("reader-worker", { ...this.#options, end } satisfies ReaderStart);
    const waiting = new Map<number, Waiting>();
    const started = { worker, waiting, end };
    this.#started = started;
    worker.unref();
    worker.on("message", (reply: ReadReply) => {
      const one = waiting.get(reply.number);
      waiting.delete(reply.number);
      if (waiting.size === 0 && !this.#isClosed) worker.unref();
      if ("error" in reply) one?.reject(unpackError(reply.error));
      else one?.resolve(reply.answer);
    });
    worker.on("error", (error) => this.#end(started, BusError.from(error, "STORE_UNAVAILABLE")));
    worker.on("exit", () => {
      hasEnded(end);
      this.#end(started, this.#gone());
    });
    return started;
  }

  /** Why a thread that ended did so: if nobody closed it, the next call starts another. */
  #gone(): BusError {
    const { path } = this.#options;
    return this.#isClosed
      ? new BusError("CLOSED", `the embedded store ${path} is closed`)
      : new BusError("STORE_UNAVAILABLE", `the reading thread of ${path} ended before it answered`);
  }

  /** One that failed is told of twice, and another may have been started in between. */
  #end(started: Started, error: BusError): void {
    if (this.#started === started) this.#started = this.#starting = undefined;
    for (const { reject } of started.waiting.values()) reject(error);
    started.waiting.clear();
  }
}
