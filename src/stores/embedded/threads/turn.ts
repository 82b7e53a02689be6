/** Turns of processes that write the same file. */
import { isBusy } from "../errors.js";
import type { Connection } from "../sqlite.js";

/** To wait on, in a thread that may: nobody ever notifies it. */
const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4));

/**
 * Begins a transaction that writes, once nobody else does. SQLite's own way of waiting sleeps up to 100 ms at a time, in which others take
 * turn after turn; commits are short, so looking more often is worth it.
 */
export function beginInTurn(connection: Connection, patienceMs: number): void {
  const untilMs = performance.now() + patienceMs;
  for (let waitMs = 0.2; ; waitMs = Math.min(waitMs * 1.5, 10)) {
    try {
      connection.exec("BEGIN IMMEDIATE");
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > untilMs) throw error;
    }
    Atomics.wait(NEVER_WOKEN, 0, 0, waitMs * (0.5 + Math.random()));
  }
}
