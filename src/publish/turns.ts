/**
 * When the writers of all partitions go on: together, so that what they hand to the store reaches it at once, and after those who
 * were just answered, so that what these publish next goes along.
 */
import { listOfOne } from "../model/list-of-one.js";
import { soon } from "../model/soon.js";

/** `isAlone`: nobody else goes on with it. */
type Next = (isAlone: boolean) => void;

let called: Next[] = [];
let waiting: Next[] = [];

/** Calls `next` when the calls that are being made are over: a caller that publishes in a loop fills the first batch too. */
export function afterCalls(next: Next): void {
  if (called.length === 0) {
    called = listOfOne(next);
    soon(runCalled);
  } else called.push(next);
}

function runCalled(): void {
  const now = called;
  called = [];
  runAll(now);
}

/**
 * Calls `next` once everything that can run now has run. All who wait go on together: what the writers of a thousand
 * partitions hand to the store then reaches it at once.
 */
export function afterTurn(next: Next): void {
  if (waiting.length === 0) setImmediate(runWaiting);
  waiting.push(next);
}

function runWaiting(): void {
  const now = waiting;
  waiting = [];
  runAll(now);
}

function runAll(all: readonly Next[]): void {
  const isAlone = all.length === 1;
  for (const next of all) next(isAlone);
}

let manyAnswered = false;

/** Many were answered in this turn: what they publish next, one after the other, goes together once all have. */
export function wereManyAnswered(): boolean {
  return manyAnswered;
}

export function noteManyAnswered(): void {
  if (manyAnswered) return;
  manyAnswered = true;
  afterTurn(forgetAnswered);
}

function forgetAnswered(): void {
  manyAnswered = false;
}
