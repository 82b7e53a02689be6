/**
 * Tells listeners what changed. Signals go out in a microtask after the change, never inside the call that made it,
 * so that a listener may call the store at once and never finds it halfway. Appends to one partition that happen
 * in a row are told once, with the newest head.
 */
import { callSafely } from "../../model/call-safely.js";
import { soon } from "../../model/soon.js";
import type { Signal } from "../../ports/store.js";

export class Signals {
  readonly #listeners = new Set<(signal: Signal) => void>();
  #pending: Signal[] = [];

  listen(listener: (signal: Signal) => void): () => void {
    // A wrapper per call: the same function may listen twice, and each stop ends its own.
    const own = (signal: Signal): void => listener(signal);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  send(signal: Signal): void {
    if (this.#listeners.size === 0) return;
    const last = this.#pending.at(-1);
    if (last === undefined) soon(this.#flush);
    if (last !== undefined && samePartition(last, signal)) this.#pending.pop();
    this.#pending.push(signal);
  }

  clear(): void {
    this.#listeners.clear();
    this.#pending = [];
  }

  readonly #flush = (): void => {
    const signals = this.#pending;
    this.#pending = [];
    for (const listener of [...this.#listeners]) {
      for (const signal of signals) callSafely(() => listener(signal));
    }
  };
}

function samePartition(a: Signal, b: Signal): boolean {
  return a.type === "appended" && b.type === "appended" && a.topic === b.topic && a.partition === b.partition;
}
