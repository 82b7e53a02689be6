/**
 * Time, timers, chance and ids from one place, so that a run can be made deterministic: hand a bus a ManualClock
 * and it never looks at the machine's clock.
 */
import { IdSource } from "./ids.js";

/** Cancels a timer; once it has fired, or twice, it does nothing. */
export type CancelTimer = () => void;

/** Where a bus has its time, its timers, its chances and its ids from. Tests hand in a ManualClock. */
export interface Clock {
  /** Milliseconds since the epoch. May jump; nothing orders events by it. */
  now(): number;
  /** Like now(), but only ever grows, at the pace of time: for deadlines and waits. */
  steady(): number;
  /** Like steady(), but it may stand still for a turn of the event loop: for those who ask with every event. */
  recent?(): number;
  /** Runs `fire` once after `delayMs`; the returned function cancels it. */
  setTimer(delayMs: number, fire: () => void): CancelTimer;
  /** A number in [0, 1). */
  random(): number;
  /** A new event id: UUIDv7, growing within the process. `nowMs`: the time, if it was just asked for. */
  newId(nowMs?: number): string;
}

/** The time for what is done with every event. */
export function recentMs(clock: Clock): number {
  return clock.recent?.() ?? clock.steady();
}

const ids = new IdSource((bytes) => crypto.getRandomValues(bytes), 512);
/** Asked once: reading it costs more than reading the time. */
const ORIGIN_MS = performance.timeOrigin;

/** The time as it was read in this turn of the event loop; 0: not yet. */
let readMs = 0;
const forgetRead = (): void => {
  readMs = 0;
};

/** The same number for the same time, not just an equal one: events share it (see event.ts). */
let lastNowMs = 0;

/** The machine's own clock. */
export const systemClock: Clock = {
  now() {
    const nowMs = Date.now();
    if (nowMs !== lastNowMs) lastNowMs = nowMs;
    return lastNowMs;
  },
  steady: () => ORIGIN_MS + performance.now(),
  recent() {
    if (readMs === 0) {
      readMs = ORIGIN_MS + performance.now();
      setImmediate(forgetRead);
    }
    return readMs;
  },
  setTimer,
  random: Math.random,
  newId: (nowMs = Date.now()) => ids.next(nowMs),
};

/** Beyond it the platform's timers fire at once: about 25 days. */
export const MOST_DELAY_MS = 2_147_483_647;

function setTimer(delayMs: number, fire: () => void): CancelTimer {
  if (delayMs > MOST_DELAY_MS) return setLongTimer(delayMs, fire);
  const timer = setTimeout(fire, delayMs);
  return () => clearTimeout(timer);
}

function setLongTimer(delayMs: number, fire: () => void): CancelTimer {
  let cancel: CancelTimer = () => undefined;
  const goOn = (): void => {
    cancel = setTimer(delayMs - MOST_DELAY_MS, fire);
  };
  cancel = setTimer(MOST_DELAY_MS, goOn);
  return () => cancel();
}

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

/** Waits for what will end by itself, but no longer than this. */
export async function within(clock: Clock, ms: number, done: Promise<unknown>): Promise<void> {
  let cancel: CancelTimer = () => undefined;
  const late = new Promise<void>((resolve) => {
    cancel = clock.setTimer(ms, resolve);
  });
  await Promise.race([done, late]);
  cancel();
}
