/** The reading thread as the event loop sees it. Started by the first call, ended by close. */
import type { Worker } from "node:worker_threads";
import { BusError } from "../../model/errors.js";
import type { DocumentQuery } from "../../ports/documents.js";
import type { CheckedStretch, Stretch } from "./checker.js";
import type { DocumentRow } from "./document-reader.js";
import { type PackedError, unpackError } from "./errors.js";
import { startWorker } from "./worker-start.js";

/** What the reading thread can be asked to do. */
export interface LongReads {
  find(o: { view: string; query: DocumentQuery }): DocumentRow[];
  backup(o: { target: string }): void;
  /** See Checker. */
  checkStructure(o: null): string[];
  checkPartitions(o: null): { stretches: Stretch[]; events: number };
  checkNext(o: Stretch): CheckedStretch;
}

export interface ReaderOptions {
  readonly path: string;
  readonly busyTimeoutMs: number;
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

export class ReaderThread {
  readonly #options: ReaderOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Promise<Worker> | undefined;
  #number = 0;
  #isClosed = false;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  async call<K extends keyof LongReads>(
    name: K,
    argument: Parameters<LongReads[K]>[0],
  ): Promise<ReturnType<LongReads[K]>> {
    if (this.#isClosed) throw new BusError("CLOSED", `the embedded store ${this.#options.path} is closed`);
    this.#worker ??= this.#start();
    const worker = await this.#worker;
    const number = ++this.#number;
    return new Promise<unknown>((resolve, reject) => {
      worker.postMessage({ number, name, argument } satisfies ReadRequest);
      this.#waiting.set(number, { resolve, reject });
      worker.ref();
    }) as Promise<ReturnType<LongReads[K]>>;
  }

  /** Ends at once: reads under way fail with CLOSED. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = await this.#worker;
    await worker?.terminate();
  }

  async #start(): Promise<Worker> {
    const worker = await startWorker("reader-worker", this.#options);
    worker.unref();
    worker.on("message", (reply: ReadReply) => {
      const waiting = this.#waiting.get(reply.number);
      this.#waiting.delete(reply.number);
      if (this.#waiting.size === 0) worker.unref();
      if ("error" in reply) waiting?.reject(unpackError(reply.error));
      else waiting?.resolve(reply.answer);
    });
    worker.on("error", (error) => this.#end(BusError.from(error, "STORE_UNAVAILABLE")));
    worker.on("exit", () =>
      this.#end(new BusError("CLOSED", `the reading thread of ${this.#options.path} ended`)),
    );
    return worker;
  }

  #end(error: BusError): void {
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
