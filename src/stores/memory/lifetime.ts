/**
 * Whether the store may still be used. Several buses may share one memory store: each opens it and closes it, and
 * the last one out ends it. Invariant: once ended, it never comes back, and every call fails with CLOSED.
 */
import { BusError } from "../../model/errors.js";

export class Lifetime {
  #users = 0;
  #ended = false;

  enter(): void {
    this.check();
    this.#users++;
  }

  /** True for the call that ends it. */
  leave(): boolean {
    if (this.#ended || --this.#users > 0) return false;
    this.#ended = true;
    return true;
  }

  check(): void {
    if (this.#ended) throw new BusError("CLOSED", "the memory store is closed");
  }
}
