/**
 * Tells listeners what changed. Own writes are told one by one, after their commit; what other processes wrote is told as
 * "look again", found by a look at the file every few milliseconds, in the writing thread, only while somebody listens.
 */
import type { Signal } from "../../ports/store.js";

export class Wake {
  readonly #listeners = new Set<(signal: Signal) => void>();
  readonly #onWatched: (on: boolean) => void;

  /** `onWatched`: somebody began to listen, or nobody does any longer. */
  constructor(onWatched: (on: boolean) => void) {
    this.#onWatched = onWatched;
  }

  get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  listen(listener: (signal: Signal) => void): () => void {
    // A wrapper per call: the same function may listen twice, and each stop ends its own.
    const own = (signal: Signal): void => listener(signal);
    this.#listeners.add(own);
    if (this.#listeners.size === 1) this.#onWatched(true);
    return () => {
      if (this.#listeners.delete(own) && this.#listeners.size === 0) this.#onWatched(false);
    };
  }

  send(signal: Signal): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(signal);
      } catch (error) {
        // Surfaces as an uncaught error of its own; the others still hear.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  clear(): void {
    this.#listeners.clear();
  }
}
