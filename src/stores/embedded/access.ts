/** How the parts of a store reach its file: reads on this thread's connection, writes in the writing thread. */
import { BusError } from "../../model/errors.js";
import type { EventDraft, Seq } from "../../model/event.js";
import type { AnswerOf, ArgumentOf, OperationName } from "./protocol.js";
import type { Connection } from "./sqlite.js";
import type { Reader } from "./threads/reader.js";
import type { LongReads, ReaderThread } from "./threads/reader-thread.js";
import type { Call, Writer } from "./threads/writer.js";
import { Wake } from "./wake.js";

/** The threads and connections of a store while it is open. */
export interface OpenFile {
  readonly writer: Writer;
  readonly reader: Reader;
  readonly readerThread: ReaderThread;
}

export class Access {
  readonly path: string;
  readonly wake = new Wake((on) => this.#file?.writer.watch(on));
  #file: OpenFile | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /** What is open, or undefined; set by the store when it opens and closes. */
  get file(): OpenFile | undefined {
    return this.#file;
  }

  set file(file: OpenFile | undefined) {
    this.#file = file;
    if (file !== undefined && this.wake.isWatched) file.writer.watch(true);
  }

  /** Runs `work` on one state of the file. CLOSED unless the store is open. */
  async read<T>(work: (connection: Connection) => T): Promise<T> {
    const { reader, writer } = this.opened;
    const applied = writer.applied();
    if (applied !== undefined) await applied;
    return reader.read(work);
  }

  /** For reads that may take long: they do not hold up the event loop. CLOSED unless the store is open. */
  async readLong<K extends keyof LongReads>(
    name: K,
    argument: Parameters<LongReads[K]>[0],
  ): Promise<ReturnType<LongReads[K]>> {
    const { readerThread, writer } = this.opened;
    const applied = writer.applied();
    if (applied !== undefined) await applied;
    return readerThread.call(name, argument);
  }

  /** Durable when it returns. CLOSED unless the store is open. */
  call<K extends OperationName>(
    name: K,
    argument: ArgumentOf<K>,
    transfer?: ArrayBuffer,
  ): Promise<AnswerOf<K>> {
    return new Promise((resolve, reject) =>
      this.ask(
        { number: 0, bytes: 0, name, argument, resolve: resolve as (answer: unknown) => void, reject },
        transfer,
      ),
    );
  }

  /** As `call`, for those who wait without a promise. */
  ask(call: Call, transfer: ArrayBuffer | undefined): void {
    if (this.#file === undefined) call.reject(this.#notOpen());
    else this.#file.writer.ask(call, transfer);
  }

  /** The seq of an event that is on disk now; undefined if it has to be asked for. */
  writeNow(topic: string, partition: number, drafts: readonly EventDraft[]): Seq | undefined {
    return this.#file?.writer.writeNow(topic, partition, drafts);
  }

  /** What is open. CLOSED unless the store is. */
  get opened(): OpenFile {
    if (this.#file === undefined) throw this.#notOpen();
    return this.#file;
  }

  #notOpen(): BusError {
    return new BusError("CLOSED", `the embedded store ${this.path} is not open`);
  }
}
