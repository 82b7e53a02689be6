/**
 * Taking turns where several processes write to one partition. Nothing rests on it but speed: the unique index decides.
 *
 * A writer that lost a race waits until the append that was in its way is over, which shows in the log: its last event
 * says so. Then it claims the place after it with its first event alone. That costs little if another one is
 * quicker, and whoever sees a claim waits until the rest has followed it.
 */
import type { Seq } from "../../model/event.js";
import type { Tail } from "./event-document.js";

/** How long after a lost race a partition counts as crowded. */
const CROWDED_MS = 1_000;
/** Partitions remembered as crowded at once. */
const MAX_CROWDED = 1_000;
/** An append of fewer events is sent whole: losing it costs no more than a claim does. */
const WORTH_A_CLAIM = 100;
/** A log that does not grow for this long has no append in the middle of it: its writer died, or is no longer heard. */
const PATIENCE_MS = 150;
/** Between two looks at the log. */
const SHORTEST_WAIT_MS = 2;
const LONGEST_WAIT_MS = 40;

export class Turns {
  /** Name of a partition, and until when it is crowded. */
  readonly #crowded = new Map<string, number>();
  #usualMs = 0;

  /** A race for a place in this partition was lost. */
  lost(name: string): void {
    if (this.#crowded.size >= MAX_CROWDED) this.#crowded.clear();
    this.#crowded.set(name, performance.now() + CROWDED_MS);
  }

  /** An insert that nobody was in the way of took this long. */
  took(ms: number): void {
    this.#usualMs = ms;
  }

  get usualMs(): number {
    return this.#usualMs;
  }

  /** Whether an append of this many events had better begin with a claim. */
  needsClaim(name: string, events: number): boolean {
    return events >= WORTH_A_CLAIM && performance.now() < (this.#crowded.get(name) ?? 0);
  }
}

/**
 * The end of the log once `lostSeq` is in it and no append goes on there, or when patience is over. Others' appends take
 * about as long as ours did, `usualMs`: looking more often than that asks for would only slow them down.
 */
export async function awaitTurn(lostSeq: Seq, usualMs: number, readTail: () => Promise<Tail>): Promise<Tail> {
  let tail = await readTail();
  let grewMs = performance.now();
  let waitMs = usualMs;
  while (tail.seq < lostSeq || tail.midway) {
    if (performance.now() - grewMs > PATIENCE_MS) break;
    waitMs = Math.min(LONGEST_WAIT_MS, Math.max(SHORTEST_WAIT_MS, waitMs / 2));
    await pause(waitMs * (0.75 + Math.random() / 2));
    const next = await readTail();
    if (next.seq > tail.seq) {
      grewMs = performance.now();
      waitMs = usualMs / 2;
    }
    tail = next;
  }
  return tail;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
