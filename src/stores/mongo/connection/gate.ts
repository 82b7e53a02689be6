/**
 * The way into the store for every call: refuses them once it is closed, counts those under way so that closing can
 * wait for them, and turns whatever MongoDB throws into errors of ours.
 */
import type { ClientSession } from "mongodb";
import { BusError } from "../../../model/errors.js";
import { busError, isRepeatable } from "./errors.js";

export class Gate {
  readonly #underWay = new Set<Promise<unknown>>();
  #closed = false;

  /** Lets calls pass again. */
  open(): void {
    this.#closed = false;
  }

  /** A call that changes nothing: when it fails, nothing happened. */
  read<T>(call: () => Promise<T>): Promise<T> {
    return this.#pass(call, (error) => busError(error, "none"));
  }

  /** A call that changes something: when the connection breaks, nobody knows. */
  write<T>(call: () => Promise<T>): Promise<T> {
    return this.#pass(call, asWrite);
  }

  /**
   * A write in a transaction of the caller's, if there is one. Whoever runs that begins it anew after some errors of MongoDB's
   * (`withTransaction` does), and knows them by what the driver throws: these are passed on as they are.
   */
  writeWithin<T>(session: ClientSession | undefined, call: () => Promise<T>): Promise<T> {
    return this.#pass(call, (error) =>
      session?.inTransaction() && isRepeatable(error) ? error : asWrite(error),
    );
  }

  check(): void {
    if (this.#closed) throw new BusError("CLOSED", "the MongoDB store is closed");
  }

  /** Refuses new calls and waits for the present ones. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#underWay);
  }

  async #pass<T>(call: () => Promise<T>, told: (error: unknown) => unknown): Promise<T> {
    this.check();
    const running = call();
    this.#underWay.add(running);
    try {
      return await running;
    } catch (error) {
      throw told(error);
    } finally {
      this.#underWay.delete(running);
    }
  }
}

function asWrite(error: unknown): BusError {
  return busError(error, "possible");
}
