/**
 * Events by id (P3). A map entry costs as much as the rest of an append, and few ids are ever asked for: those that
 * the bus just made go into the map only when somebody asks for an id, or when too many wait.
 *
 * Invariant: an event of a partition is in the map unless the partition is behind and the event's seq is above the
 * one noted for it.
 */
import type { Seq } from "../../model/event.js";
import type { Kept, PartitionLog } from "./partition-log.js";

/** Bounds how long the first question may take: a fraction of a second. */
const MAX_WAITING = 262_144;
const CATCH_UP_EVENTS = 1_024;

export class IdIndex {
  readonly #ids = new Map<string, Kept>();
  /** Partitions with events that are not in the map: all those above this seq. */
  readonly #behind = new Map<PartitionLog, Seq>();
  #waiting = 0;
  /** The one that grew last, if it is behind: appends come in batches. */
  #growing: PartitionLog | null = null;

  get size(): number {
    return this.#ids.size + this.#waiting;
  }

  get(id: string): Kept | undefined {
    for (const log of this.#behind.keys()) this.#catchUp(log, Number.POSITIVE_INFINITY);
    return this.#ids.get(id);
  }

  /** The event was just added to the log. */
  add(log: PartitionLog, event: Kept, fresh: boolean): void {
    if (log !== this.#growing) {
      const isBehind = this.#behind.has(log);
      if (!fresh && !isBehind) {
        this.#ids.set(event.id, event);
        return;
      }
      if (!isBehind) this.#behind.set(log, event.seq - 1);
      this.#growing = log;
    }
    this.#waiting++;
    if (this.#waiting > MAX_WAITING) this.#catchUpABit();
  }

  /** The events were just removed from the log. */
  forget(log: PartitionLog, events: readonly Kept[]): void {
    const through = this.#behind.get(log) ?? Number.POSITIVE_INFINITY;
    for (const event of events) {
      if (event.seq > through) this.#waiting--;
      else this.#ids.delete(event.id);
    }
  }

  #catchUpABit(): void {
    for (const log of this.#behind.keys()) {
      this.#catchUp(log, CATCH_UP_EVENTS);
      return;
    }
  }

  #catchUp(log: PartitionLog, limit: number): void {
    const events = log.keptAfter(this.#behind.get(log) ?? log.head, limit);
    const through = events.length < limit ? log.head : (events.at(-1) as Kept).seq;
    for (const event of events) this.#ids.set(event.id, event);
    this.#waiting -= events.length;
    if (through < log.head) {
      this.#behind.set(log, through);
      return;
    }
    this.#behind.delete(log);
    if (this.#growing === log) this.#growing = null;
  }
}
