/**
 * The way into the store for every call: refuses them once it is closed, counts those under way so that closing can
 * wait for them, and turns whatever MongoDB throws into errors of ours.
 */
import { BusError } from "../../model/errors.js";
import { busError, type Effect } from "./errors.js";

export class Gate {
  readonly #underWay = new Set<Promise<unknown>>();
  #closed = false;

  /** Lets calls pass again. */
  open(): void {
    this.#closed = false;
  }

  /** A call that changes nothing: when it fails, nothing happened. */
  read<T>(call: () => Promise<T>): Promise<T> {
    return this.#pass(call, "none");
  }

  /** A call that changes something: when the connection breaks, nobody knows. */
  write<T>(call: () => Promise<T>): Promise<T> {
    return this.#pass(call, "possible");
  }

  check(): void {
    if (this.#closed) throw new BusError("CLOSED", "the MongoDB store is closed");
  }

  /** Refuses new calls and waits for the present ones. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#underWay);
  }

  async #pass<T>(call: () => Promise<T>, effect: Effect): Promise<T> {
    this.check();
    const running = call();
    this.#underWay.add(running);
    try {
      return await running;
    } catch (error) {
      throw busError(error, effect);
    } finally {
      this.#underWay.delete(running);
    }
  }
}
