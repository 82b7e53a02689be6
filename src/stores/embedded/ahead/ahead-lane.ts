/**
 * The way past the writing thread, as the event loop sees it: what is written ahead, when the thread is told of it, and who
 * waits until the store has it.
 */
import type { BusError } from "../../../model/errors.js";
import type { EventDraft, Seq } from "../../../model/event.js";
import type { Request } from "../protocol.js";
import type { Ahead } from "./ahead.js";

/** How long appends may stand in the file ahead before the thread is told of them. */
const APPLY_AFTER_MS = 50;

interface Waiting {
  readonly serial: number;
  resolve(): void;
  reject(error: BusError): void;
}

export class AheadLane {
  readonly ahead: Ahead;
  readonly #post: () => void;
  #timer: NodeJS.Timeout | undefined;
  #told = 0;
  #waiting: Waiting[] = [];

  /** `post` tells the thread to take over what stands in the file ahead. */
  constructor(ahead: Ahead, post: () => void) {
    this.ahead = ahead;
    this.#post = post;
  }

  /** As `Ahead.write`; the thread hears of it before long. */
  write(requests: readonly Request[]): Seq[] | undefined {
    const seqs = this.ahead.write(requests);
    if (seqs !== undefined) this.#tellSoon();
    return seqs;
  }

  /** As `Ahead.writeOne`, in the same way. */
  writeOne(topic: string, partition: number, drafts: readonly EventDraft[]): Seq | undefined {
    const seq = this.ahead.writeOne(topic, partition, drafts);
    if (seq !== undefined) this.#tellSoon();
    return seq;
  }

  #tellSoon(): void {
    if (this.ahead.isMuch) this.tell();
    else this.#timer ??= setTimeout(this.tell, APPLY_AFTER_MS).unref();
  }

  /** Tells the thread of everything that it has not been told of. */
  readonly tell = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#told === this.ahead.serial) return;
    this.#told = this.ahead.serial;
    this.#post();
  };

  /** When the store has everything that was written ahead so far. */
  applied(): Promise<void> {
    this.tell();
    const { serial } = this.ahead;
    return new Promise((resolve, reject) => this.#waiting.push({ serial, resolve, reject }));
  }

  /** Whether somebody waits for `applied`. */
  get isAwaited(): boolean {
    return this.#waiting.length > 0;
  }

  caughtUp(serial: number): void {
    this.ahead.caughtUp(serial);
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = waiting.filter((one) => one.serial > serial);
    for (const one of waiting) if (one.serial <= serial) one.resolve();
  }

  /** The thread has ended. */
  end(error: BusError): void {
    clearTimeout(this.#timer);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) one.reject(error);
    this.ahead.close();
  }
}
