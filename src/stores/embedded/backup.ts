/**
 * A copy of the store that appears whole, on disk, under its name, or not at all. It ends with the store at the latest, which
 * waits until nothing of it is left.
 */
import { BusError } from "../../model/errors.js";
import { Copy, demandFree } from "./backup/copy-place.js";
import { unavailable } from "./errors.js";
import type { ReaderThread } from "./threads/reader-thread.js";

/** Those of a store that are under way. */
export class Backups {
  readonly #over = new AbortController();
  readonly #underWay = new Set<Promise<void>>();

  async run(work: (over: AbortSignal) => Promise<void>, signal: AbortSignal | undefined): Promise<void> {
    const ends = [this.#over.signal, ...(signal === undefined ? [] : [signal])];
    const working = work(AbortSignal.any(ends));
    this.#underWay.add(working);
    try {
      await working;
    } finally {
      this.#underWay.delete(working);
    }
  }

  async end(): Promise<void> {
    this.#over.abort();
    await Promise.allSettled(this.#underWay);
  }
}

export async function backUp(thread: ReaderThread, target: string, over: AbortSignal): Promise<void> {
  // The thread sees it between two stretches. Ending the thread itself, in the middle of the engine's work, would end the process.
  const givenUp = new Int32Array(new SharedArrayBuffer(4));
  const giveUp = (): void => void Atomics.store(givenUp, 0, 1);
  over.addEventListener("abort", giveUp);
  try {
    over.throwIfAborted();
    await demandFree(target);
    const copy = await Copy.begin(target);
    try {
      await thread.call("backup", { target: copy.path, file: copy.fd, givenUp });
      await copy.setAside();
      await thread.call("disown", { copy: copy.path });
      over.throwIfAborted();
      await copy.appear();
    } finally {
      await copy.end();
    }
  } catch (error) {
    throw over.aborted ? aborted(target, error) : unavailable(`cannot back up to ${target}`, error);
  } finally {
    over.removeEventListener("abort", giveUp);
  }
}

function aborted(target: string, cause: unknown): BusError {
  return new BusError("ABORTED", `the backup to ${target} was given up`, { cause });
}
