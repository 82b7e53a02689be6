/**
 * How often the audit is told of events that a group has not settled. Of a group that nobody runs any more some go in every round,
 * in every partition: once an hour, with how many went since, is enough. Pure: time is an argument.
 */
import type { UnreadEvents } from "./retention.js";

const EVERY_MS = 3_600_000;

interface Told {
  readonly stage: UnreadEvents["stage"];
  readonly atMs: number;
  /** Events that went since. */
  readonly since: number;
}

export class UnreadReports {
  /** By (topic, partition, group). */
  readonly #told = new Map<string, Told>();

  /** Whether this is what was last said. */
  isTold(name: string, stage: UnreadEvents["stage"]): boolean {
    return this.#told.get(name)?.stage === stage;
  }

  /** How many events to write down, those included that went since the last time; 0: not now. */
  tell(name: string, { stage, events }: Pick<UnreadEvents, "stage" | "events">, nowMs: number): number {
    const last = this.#told.get(name);
    const isGoing = stage === "now" && last?.stage === "now";
    const sum = isGoing ? last.since + events : events;
    if (isGoing && nowMs - last.atMs < EVERY_MS) {
      this.#told.set(name, { ...last, since: sum });
      return 0;
    }
    this.#told.set(name, { stage, atMs: nowMs, since: 0 });
    return sum;
  }

  /** The group has nothing to lose now: how many events went that were not written down. */
  end(name: string): number {
    const since = this.#told.get(name)?.since ?? 0;
    this.#told.delete(name);
    return since;
  }
}
