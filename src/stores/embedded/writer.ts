/**
 * The writing thread as the event loop sees it: calls go out in order, those of one turn in two messages at most, and the
 * thread takes whatever waits as one group. Nothing here blocks. If the thread ends by itself, the outcome of every call under way is unknown.
 */

import type { Worker } from "node:worker_threads";
import { BusError } from "../../model/errors.js";
import { Numbered } from "../../model/numbered.js";
import { soon } from "../../model/soon.js";
import { unpackError } from "./errors.js";
import {
  type ArgumentOf,
  type FromWriter,
  type OperationName,
  packRequests,
  type Request,
  type ToWriter,
  unpackReplies,
  type WriterOptions,
} from "./protocol.js";
import { startWorker } from "./worker-start.js";

/** Calls, and bytes handed over with them, that may wait for their answer at once (P13). */
const MAX_WAITING = 100_000;
const MAX_WAITING_BYTES = 256 * 1_048_576;

/** A request and who waits for its answer. */
interface Waiting extends Request {
  readonly bytes: number;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: BusError) => void;
}

export interface WriterEvents {
  /** Another process has written. */
  onForeign(): void;
  /** The thread ended although nobody closed it: this writer is of no more use. */
  onLost(cause: unknown): void;
  onWarning(message: string): void;
}

export class Writer {
  readonly #worker: Worker;
  readonly #path: string;
  readonly #waiting = new Numbered<Waiting>();
  readonly #closed: Promise<void>;
  #outgoing: Waiting[] = [];
  /** Several calls may lie in one buffer. */
  #transfer = new Set<ArrayBuffer>();
  #sentThisTurn = false;
  #number = 0;
  #waitingBytes = 0;
  #state: "open" | "closed" | "lost" = "open";

  /** Opens the file; throws a BusError that says what to do. */
  static async open(options: WriterOptions, events: WriterEvents): Promise<Writer> {
    const worker = await startWorker("writer-worker", options);
    const writer = new Writer(worker, options.path);
    await writer.#start(events);
    return writer;
  }

  private constructor(worker: Worker, path: string) {
    this.#worker = worker;
    this.#path = path;
    this.#closed = new Promise((resolve) => worker.once("exit", () => resolve()));
  }

  /** Exactly one of the two is called, and must not throw. */
  ask<K extends OperationName>(
    name: K,
    argument: ArgumentOf<K>,
    transfer: ArrayBuffer | undefined,
    resolve: (answer: unknown) => void,
    reject: (error: BusError) => void,
  ): void {
    const isFull = this.#waiting.size >= MAX_WAITING || this.#waitingBytes >= MAX_WAITING_BYTES;
    if (this.#state !== "open" || isFull) {
      reject(this.#state === "open" ? this.#fullError() : this.#gone());
      return;
    }
    const number = ++this.#number;
    const bytes = transfer === undefined || this.#transfer.has(transfer) ? 0 : transfer.byteLength;
    this.#waitingBytes += bytes;
    this.#sendSoon();
    if (transfer !== undefined) this.#transfer.add(transfer);
    const waiting = { number, name, argument, resolve, reject, bytes };
    this.#outgoing.push(waiting);
    this.#waiting.add(number, waiting);
    if (this.#waiting.size === 1) this.#worker.ref();
  }

  watch(on: boolean): void {
    if (this.#state === "open") this.#post(on ? "watch" : "unwatch");
  }

  /** Waits for what is under way, then ends the thread. */
  async close(): Promise<void> {
    if (this.#state === "open") {
      this.#flush();
      this.#state = "closed";
      this.#worker.ref();
      this.#post("close");
    }
    await this.#closed;
  }

  async #start(events: WriterEvents): Promise<void> {
    let isReady = false;
    await new Promise<void>((resolve, reject) => {
      this.#worker.on("message", (message: FromWriter) => {
        if ("type" in message && message.type === "ready") {
          isReady = true;
          resolve();
        } else if ("type" in message && message.type === "failed") reject(unpackError(message.error));
        else this.#receive(message, events);
      });
      this.#worker.on("error", (error) => {
        reject(BusError.from(error, "STORE_UNAVAILABLE"));
        if (isReady) this.#end(events, error);
      });
      this.#worker.on("exit", () => {
        reject(
          new BusError("STORE_UNAVAILABLE", `the writing thread of ${this.#path} ended before it began`),
        );
        if (isReady) this.#end(events, undefined);
      });
    });
    // An idle store does not keep the process alive; calls under way do.
    if (this.#waiting.size === 0) this.#worker.unref();
  }

  #receive(message: FromWriter, events: WriterEvents): void {
    if ("type" in message) {
      if (message.type === "foreign") events.onForeign();
      else if (message.type === "warning") events.onWarning(message.message);
      return;
    }
    for (const reply of unpackReplies(message)) {
      const waiting = this.#take(reply.number);
      if ("error" in reply) waiting?.reject(unpackError(reply.error));
      else waiting?.resolve(reply.answer);
    }
    if (this.#waiting.size === 0 && this.#state === "open") this.#worker.unref();
  }

  /**
   * The first calls of a turn of the event loop go out at once: the thread works while this one goes on. Whatever else is
   * asked in the same turn, by a thousand timers perhaps, goes together when it ends.
   */
  #sendSoon(): void {
    if (this.#sentThisTurn) return;
    this.#sentThisTurn = true;
    soon(this.#flush);
    setImmediate(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    this.#sentThisTurn = false;
    this.#flush();
  };

  readonly #flush = (): void => {
    if (this.#outgoing.length === 0) return;
    const requests = this.#outgoing;
    const transfer = this.#transfer;
    this.#outgoing = [];
    this.#transfer = new Set();
    try {
      this.#post(packRequests(requests), [...transfer]);
    } catch (error) {
      // Something in an argument cannot cross between threads. Nothing was sent.
      for (const { number } of requests) this.#take(number)?.reject(BusError.from(error));
    }
  };

  #take(number: number): Waiting | undefined {
    const waiting = this.#waiting.take(number);
    this.#waitingBytes -= waiting?.bytes ?? 0;
    return waiting;
  }

  #post(message: ToWriter, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #end(events: WriterEvents, cause: unknown): void {
    this.#waitingBytes = 0;
    for (const { reject } of this.#waiting.takeAll()) {
      reject(
        new BusError("OUTCOME_UNKNOWN", `the writing thread of ${this.#path} ended before it answered`, {
          cause,
        }),
      );
    }
    if (this.#state !== "open") return;
    this.#state = "lost";
    events.onLost(cause);
  }

  #fullError(): BusError {
    return new BusError(
      "QUEUE_FULL",
      `${this.#waiting.size} writes with ${this.#waitingBytes} bytes wait for the disk of ${this.#path}; try again later`,
    );
  }

  #gone(): BusError {
    return this.#state === "closed"
      ? new BusError("CLOSED", `the embedded store ${this.#path} is closed`)
      : new BusError("STORE_UNAVAILABLE", `the writing thread of ${this.#path} is being started again`);
  }
}
