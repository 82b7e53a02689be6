/**
 * Work that may take very long, with a limit: what someone sends in must not stop a process. The limit is one of the processor's time,
 * so that a busy machine, or one that stands still for a while, changes nothing about the answer. Work is stopped between any two steps, without
 * `finally`: it may change nothing that others see half done, so it loads no modules and runs no code of users.
 */
import { createContext, Script } from "node:vm";
import { BusError } from "../../model/errors.js";

const MAX_CPU_MS = 250;
/** While others have the processor, so much longer. */
const MAX_MS = 32_000;

/** Thrown and caught in this file. */
class NeedsTime extends Error {
  override readonly name = "NeedsTime";
}

/** What nobody can be made to wait for. */
export class TakesTooLong extends BusError {
  constructor(cause: unknown) {
    super("SCHEMA_VIOLATION", "it takes too long to hold the payload against the schema", { cause });
  }
}

let isLimited = false;

/** Said by work before it does what may take long. */
export function mayTakeTime(): void {
  if (!isLimited) throw new NeedsTime();
}

/** Does work at once, and once more with a limit if it says that it may take long; `isLong`: it may. Throws `TakesTooLong`. */
export function patiently<T>(work: () => T, isLong = false): T {
  if (isLimited) return work();
  try {
    if (!isLong) return work();
  } catch (error) {
    if (!(error instanceof NeedsTime)) throw error;
  }
  return withinLimit(work);
}

/** Each try is twice as long, until one had its share of the processor. Throws `TakesTooLong`. */
export function withinLimit<T>(work: () => T, cpuMs = MAX_CPU_MS): T {
  isLimited = true;
  try {
    for (let ms = cpuMs; ; ms *= 2) {
      const before = process.cpuUsage();
      try {
        return runFor(ms, work);
      } catch (error) {
        if (!isTimeout(error)) throw error;
        const { user, system } = process.cpuUsage(before);
        if (user + system >= cpuMs * 1_000 || ms >= MAX_MS) throw tooLong(error);
      }
    }
  } finally {
    isLimited = false;
  }
}

/** Made once, it takes milliseconds: a place that has what is to be done, and what does it. */
let clock: { readonly place: { work: () => unknown }; readonly script: Script } | undefined;
const idle = (): undefined => undefined;

function runFor<T>(timeout: number, work: () => T): T {
  clock ??= { place: createContext({ work: idle }) as { work: () => unknown }, script: new Script("work()") };
  clock.place.work = work;
  try {
    return clock.script.runInContext(clock.place, { timeout }) as T;
  } finally {
    clock.place.work = idle;
  }
}

function tooLong(cause: unknown): TakesTooLong {
  return new TakesTooLong(cause);
}

function isTimeout(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
}
