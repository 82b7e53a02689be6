/**
 * Time, timers, chance and ids from one place, so that a run can be made deterministic: hand a bus a ManualClock
 * and it never looks at the machine's clock.
 */
import { IdSource } from "./ids.js";

export type CancelTimer = () => void;

export interface Clock {
  /** Milliseconds since the epoch. May jump; nothing orders events by it. */
  now(): number;
  /** Like now(), but only ever grows, at the pace of time: for deadlines and waits. */
  steady(): number;
  /** Runs `fire` once after `delayMs`; the returned function cancels it. */
  setTimer(delayMs: number, fire: () => void): CancelTimer;
  /** A number in [0, 1). */
  random(): number;
  /** A new event id: UUIDv7, growing within the process. */
  newId(): string;
}

const pool = new Uint8Array(8_192);
let used = pool.length;

/** The system's randomness, fetched a few hundred ids at a time. */
function fillFromPool(bytes: Uint8Array): void {
  if (used + bytes.length > pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  for (let i = 0; i < bytes.length; i++) bytes[i] = pool[used + i] as number;
  used += bytes.length;
}

const ids = new IdSource(Date.now, fillFromPool);
/** Asked once: reading it costs more than reading the time. */
const ORIGIN_MS = performance.timeOrigin;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => ORIGIN_MS + performance.now(),
  setTimer(delayMs, fire) {
    const timer = setTimeout(fire, Math.min(delayMs, 2_147_483_647));
    return () => clearTimeout(timer);
  },
  random: Math.random,
  newId: () => ids.next(),
};

/** Waits on a clock; ends early, without an error, when `signal` aborts. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = (): void => {
      cancel();
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const cancel = clock.setTimer(delayMs, finish);
    signal?.addEventListener("abort", finish, { once: true });
  });
}
