/**
 * The writing thread as the event loop sees it: calls go out in order, those of one turn in two messages at most, and the
 * thread takes whatever waits as one group. Nothing here blocks. If the thread ends by itself, the outcome of every call under way is unknown.
 */

import type { Worker } from "node:worker_threads";
import { BusError, describeThrown } from "../../../model/errors.js";
import type { EventDraft, Seq } from "../../../model/event.js";
import { Numbered } from "../../../model/numbered.js";
import { soon } from "../../../model/soon.js";
import { Ahead } from "../ahead/ahead.js";
import { AheadDisk } from "../ahead/ahead-disk.js";
import { aheadPath } from "../ahead/ahead-file.js";
import { AheadLane } from "../ahead/ahead-lane.js";
import { type PackedError, unpackError } from "../errors.js";
import type {
  AheadStart,
  AppendRequest,
  FromWriter,
  OperationName,
  Request,
  ToWriter,
  WriterOptions,
} from "../protocol.js";
import { PlaceNumbers, packRequests, type Replied, unpackReplies } from "./messages.js";
import { startWorker } from "./worker-start.js";

/** Calls, and bytes handed over with them, that may wait for their answer at once (P13). */
const MAX_WAITING = 100_000;
const MAX_WAITING_BYTES = 256 * 1_048_576;

/** What the thread may be busy with while appends go past it: it gives no seqs, and refuses no append from then on. */
const BESIDE: ReadonlySet<OperationName> = new Set(["commit", "beat"]);

/** A request and who waits for its answer: exactly one of the two is called, once, and must not throw. */
export interface Call extends Request {
  /** Given when it is asked. */
  number: number;
  /** Bytes that are handed over with it and not with an earlier one. */
  bytes: number;
  resolve(answer: unknown): void;
  reject(error: BusError): void;
}

export interface WriterEvents {
  /** Another process has written. */
  onForeign(): void;
  /** The thread ended although nobody closed it: this writer is of no more use. */
  onLost(cause: unknown): void;
  onWarning(message: string): void;
}

export class Writer implements Replied {
  readonly #worker: Worker;
  readonly #path: string;
  readonly #waiting = new Numbered<Call>();
  readonly #places = new PlaceNumbers();
  readonly #closed: Promise<void>;
  #outgoing: Call[] = [];
  /** Several calls may lie in one buffer. */
  #transfer = new Set<ArrayBuffer>();
  #sentThisTurn = false;
  #number = 0;
  #waitingBytes = 0;
  /** Of those that wait, how many an append must not overtake. */
  #inTheWay = 0;
  #state: "open" | "closed" | "lost" = "open";
  /** Why the thread was told to end, if it was. */
  #fault: unknown;
  #lane: AheadLane | undefined;
  /** Whether the thread keeps the process alive, as it does from its start. */
  #isHeld = true;

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

  /** `transfer`: a buffer of its argument that is handed over. */
  ask(call: Call, transfer: ArrayBuffer | undefined): void {
    const isFull = this.#waiting.size >= MAX_WAITING || this.#waitingBytes >= MAX_WAITING_BYTES;
    if (this.#state !== "open" || isFull) {
      call.reject(this.#state === "open" ? this.#fullError() : this.#gone());
      return;
    }
    call.number = ++this.#number;
    call.bytes = transfer === undefined || this.#transfer.has(transfer) ? 0 : transfer.byteLength;
    this.#waitingBytes += call.bytes;
    this.#sendSoon();
    if (transfer !== undefined) this.#transfer.add(transfer);
    this.#outgoing.push(call);
    this.#waiting.add(call.number, call);
    if (!BESIDE.has(call.name)) this.#inTheWay++;
  }

  /**
   * Writes an append to the file ahead, the first of its turn: what else is asked for in that turn goes together when it ends.
   * Gives its first seq; undefined if the thread has to be asked, with nothing done.
   */
  writeNow(topic: string, partition: number, drafts: readonly EventDraft[]): Seq | undefined {
    const lane = this.#lane;
    // Nobody else is to be written before it, or together with it.
    const isFree = this.#state === "open" && !this.#sentThisTurn && this.#inTheWay === 0;
    if (!isFree || lane?.ahead.fits(drafts) !== true) return undefined;
    try {
      const seq = lane.writeOne(topic, partition, drafts);
      if (seq !== undefined) this.#beginTurn();
      return seq;
    } catch (cause) {
      // No event at all: nothing was written.
      if (lane.ahead.isOpen) throw BusError.from(cause);
      // As below: nobody knows whether it is on disk, and the next thread looks.
      this.#giveUp(cause);
      throw unknown(`${this.#path} could not be written to`, cause);
    }
  }

  watch(on: boolean): void {
    if (this.#state === "open") this.#post(on ? "watch" : "unwatch");
  }

  /** When readers of the file see everything that was answered; undefined if they do now. */
  applied(): Promise<void> | undefined {
    if (!this.#lane?.ahead.isAhead) return undefined;
    if (this.#state !== "open") return Promise.reject(this.#gone());
    this.#hold();
    return this.#lane.applied();
  }

  /** Waits for what is under way, then ends the thread. */
  async close(): Promise<void> {
    if (this.#state === "open") {
      this.#flush();
      this.#lane?.tell();
      this.#state = "closed";
      this.#hold();
      this.#post("close");
    }
    await this.#closed;
  }

  async #start(events: WriterEvents): Promise<void> {
    let isReady = false;
    let failure: BusError | undefined;
    await new Promise<void>((resolve, reject) => {
      this.#worker.on("message", (message: FromWriter) => {
        if ("type" in message && message.type === "ready") {
          isReady = true;
          resolve();
          if (message.ahead !== undefined) this.#openLane(message.ahead, events);
        } else if ("type" in message && message.type === "failed") failure = unpackError(message.error);
        else this.#receive(message, events);
      });
      this.#worker.on("error", (error) => {
        reject(BusError.from(error, "STORE_UNAVAILABLE"));
        if (isReady) this.#end(events, error);
      });
      this.#worker.on("exit", () => {
        // Not before: until the thread is over it may have the file open, and whoever tries again would meet that.
        reject(failure ?? this.#neverBegan());
        if (isReady) this.#end(events, this.#fault ?? new Error("it was ended from outside"));
      });
    });
    this.#letGo();
  }

  #openLane(start: AheadStart, events: WriterEvents): void {
    try {
      const disk = new AheadDisk(aheadPath(this.#path), start.image);
      this.#lane = new AheadLane(new Ahead(disk, start), () => this.#post("apply"));
    } catch (error) {
      events.onWarning(`every append to ${this.#path} takes the long way: ${describeThrown(error)}`);
    }
  }

  #receive(message: FromWriter, events: WriterEvents): void {
    if ("type" in message) {
      if (message.type === "applied") {
        this.#lane?.caughtUp(message.serial);
        this.#letGo();
      } else if (message.type === "foreign") events.onForeign();
      else if (message.type === "warning") events.onWarning(message.message);
      return;
    }
    unpackReplies(message, this);
    this.#letGo();
  }

  #hold(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#worker.ref();
  }

  /** An idle store does not keep the process alive; those who wait for the thread do. */
  #letGo(): void {
    if (!this.#isHeld || this.#state !== "open") return;
    if (this.#waiting.size > 0 || this.#lane?.isAwaited) return;
    this.#isHeld = false;
    this.#worker.unref();
  }

  answered(number: number, answer: unknown): void {
    const call = this.#take(number);
    if (call === undefined) return;
    if (call.name === "append") this.#lane?.ahead.learn(call.argument as AppendRequest, answer);
    // Not before: appends that were under way have told of heads since it was asked.
    else if (call.name === "markDamage") this.#lane?.ahead.forgetHeads();
    call.resolve(answer);
  }

  failed(number: number, error: PackedError): void {
    // A commit that may be on disk counts if the process is killed now, and no longer once another one has been written in its
    // place: until the thread has told of that, nobody knows which seq is next.
    if (error.code === "OUTCOME_UNKNOWN") this.#lane?.ahead.forgetHeads();
    this.#take(number)?.reject(unpackError(error));
  }

  /**
   * The first calls of a turn of the event loop go out at once: the thread works while this one goes on. Whatever else is
   * asked in the same turn, by a thousand timers perhaps, goes together when it ends.
   */
  #sendSoon(): void {
    if (this.#sentThisTurn) return;
    soon(this.#flush);
    this.#beginTurn();
  }

  #beginTurn(): void {
    this.#sentThisTurn = true;
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
    if (this.#lane !== undefined) {
      if (this.#goAhead(this.#lane, requests)) return;
      this.#lane.ahead.note(requests);
      // What was promised comes first.
      this.#lane.tell();
    }
    this.#hold();
    try {
      this.#post(packRequests(requests, this.#places), [...transfer]);
    } catch {
      // Something in an argument cannot cross between threads. Nothing was sent.
      this.#places.forget();
      for (const request of requests) this.#sendAlone(request);
    }
  };

  /** So that no other fails with it. Buffers that several have are copied. */
  #sendAlone(request: Call): void {
    try {
      this.#post(packRequests([request], this.#places));
    } catch (error) {
      this.#places.forget();
      this.#take(request.number)?.reject(BusError.from(error));
    }
  }

  /** Writes them to the file ahead and answers them; false if they are for the thread. */
  #goAhead(lane: AheadLane, requests: readonly Call[]): boolean {
    if (this.#inTheWay > requests.length) return false;
    let seqs: Seq[] | undefined;
    try {
      seqs = lane.write(requests);
    } catch (cause) {
      // Nobody knows whether they are on disk. The next thread looks; these calls end with this one.
      this.#giveUp(cause);
      return true;
    }
    if (seqs === undefined) return false;
    for (let i = 0; i < requests.length; i++) this.#take((requests[i] as Call).number)?.resolve(seqs[i]);
    return true;
  }

  /** The file ahead could not be written: the thread ends for that reason, once it is done with what it is at. */
  #giveUp(cause: unknown): void {
    this.#fault = cause;
    this.#hold();
    this.#post("abandon");
  }

  #take(number: number): Call | undefined {
    const waiting = this.#waiting.take(number);
    if (waiting === undefined) return undefined;
    this.#waitingBytes -= waiting.bytes;
    if (!BESIDE.has(waiting.name)) this.#inTheWay--;
    return waiting;
  }

  #post(message: ToWriter, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #end(events: WriterEvents, cause: unknown): void {
    this.#lane?.end(this.#gone());
    this.#waitingBytes = 0;
    this.#inTheWay = 0;
    for (const call of this.#waiting.takeAll()) {
      call.reject(unknown(`the writing thread of ${this.#path} ended before it answered`, cause));
    }
    if (this.#state !== "open") return;
    this.#state = "lost";
    events.onLost(cause);
  }

  #neverBegan(): BusError {
    return new BusError("STORE_UNAVAILABLE", `the writing thread of ${this.#path} ended before it began`);
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

function unknown(message: string, cause: unknown): BusError {
  return new BusError("OUTCOME_UNKNOWN", message, { cause });
}
