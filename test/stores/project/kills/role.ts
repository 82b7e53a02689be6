/** One kind of worker that is killed: what it has to do, how it does it, and how the work is judged in the end. */
import type { OpenedPlace } from "./place.js";

export interface Worker {
  /** Pieces of work done so far. */
  done(): number;
  stop(): Promise<void>;
}

/** The work of one run, given out in bursts. */
export interface Assignment {
  /** More to do. */
  burst(seed: number): Promise<void>;
  /** True when all that was given out is done. */
  finished(): Promise<boolean>;
  /** What is wrong with the result; nothing, if all is well. */
  anomalies(): Promise<string[]>;
}

export interface Role {
  /** The worker's source is a collection of MongoDB. */
  readonly needsMongo?: boolean;
  prepare(place: OpenedPlace): Promise<Assignment>;
  work(place: OpenedPlace): Promise<Worker>;
}

/** One line about two values that should be the same; none if they are. */
export function differs(what: string, found: unknown, expected: unknown): string[] {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a === b) return [];
  const at = [...a].findIndex((char, i) => char !== b[i]);
  const near = (text: string): string => text.slice(Math.max(0, at - 40), at + 80);
  return [`${what}: found …${near(a)}…, expected …${near(b)}…`];
}
