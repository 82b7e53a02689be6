/**
 * How the reading thread ends: between two reads. Ended from outside in the middle of the engine's work, as Node does with all
 * threads when a process exits, it would take the process with it, with an abort.
 */

const OVER = 0;
const BUSY = 1;
/** No exit waits longer for a read. */
const LONGEST_WAIT_MS = 5_000;

/** What both threads see. */
export type ReaderEnd = Int32Array;

const running = new Set<ReaderEnd>();
let isHeeded = false;

/** Of a thread that is about to start. */
export function newEnd(): ReaderEnd {
  const end = new Int32Array(new SharedArrayBuffer(8));
  running.add(end);
  if (!isHeeded) process.on("exit", waitForAll);
  isHeeded = true;
  return end;
}

/** The thread begins with nothing more. */
export function endSoon(end: ReaderEnd): void {
  Atomics.store(end, OVER, 1);
}

/** In the thread: what takes long, and can be left, is to be left now. */
export function isOver(end: ReaderEnd): boolean {
  return Atomics.load(end, OVER) !== 0;
}

export function hasEnded(end: ReaderEnd): void {
  running.delete(end);
}

/** In the thread. False, with nothing done, if it is to end. */
export function unlessOver(end: ReaderEnd, work: () => void): boolean {
  // First: either it is seen that there is work, or that it is over.
  Atomics.store(end, BUSY, 1);
  try {
    if (isOver(end)) return false;
    work();
    return true;
  } finally {
    Atomics.store(end, BUSY, 0);
    Atomics.notify(end, BUSY);
  }
}

function waitForAll(): void {
  for (const end of running) endSoon(end);
  for (const end of running) Atomics.wait(end, BUSY, 1, LONGEST_WAIT_MS);
}
