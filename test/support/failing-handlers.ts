/** For tests of handlers that fail: how, when they are tried again, and what becomes of their events. */
import type { Bus } from "../../src/bus/bus.js";
import type { DeadLetter } from "../../src/model/dead-letter.js";
import type { EventRecord } from "../../src/model/event.js";

export const RETRY = { baseMs: 100, maxMs: 1_000, factor: 2, jitter: 0 };

export async function lettersOf(bus: Bus, topic: string): Promise<EventRecord<DeadLetter>[]> {
  const letters: EventRecord<DeadLetter>[] = [];
  for await (const letter of bus.read<DeadLetter>(`dlq.${topic}`)) letters.push(letter);
  return letters;
}

export function fail(): never {
  throw new Error("boom");
}
