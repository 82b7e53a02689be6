/**
 * Tells listeners what changed. Own writes are told one by one, after their commit; what other processes wrote is told as
 * "look again", found by a look at the file every few milliseconds, in the writing thread, only while somebody listens.
 */
import { callSafely } from "../../model/call-safely.js";
import type { Signal } from "../../ports/store.js";

export class Wake {
  /** Made anew with every change: one that comes or goes while others are told changes nothing for these. */
  #listeners: readonly ((signal: Signal) => void)[] = [];
  readonly #onWatched: (on: boolean) => void;

  /** `onWatched`: somebody began to listen, or nobody does any longer. */
  constructor(onWatched: (on: boolean) => void) {
    this.#onWatched = onWatched;
  }

  get isWatched(): boolean {
    return this.#listeners.length > 0;
  }

  listen(listener: (signal: Signal) => void): () => void {
    // A wrapper per call: the same function may listen twice, and each stop ends its own.
    const own = (signal: Signal): void => listener(signal);
    this.#listeners = [...this.#listeners, own];
    if (this.#listeners.length === 1) this.#onWatched(true);
    return () => {
      if (!this.#listeners.includes(own)) return;
      this.#listeners = this.#listeners.filter((one) => one !== own);
      if (this.#listeners.length === 0) this.#onWatched(false);
    };
  }

  send(signal: Signal): void {
    for (const listener of this.#listeners) callSafely(() => listener(signal));
  }

  clear(): void {
    this.#listeners = [];
  }
}
