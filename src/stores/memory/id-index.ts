/**
 * Events by id (P3). A map entry costs as much as the rest of an append, and few ids are ever asked for. Ids that the bus just
 * made grow from one event of a partition to the next: a stretch of such events needs no entries, since it can be searched. All
 * others are in the map.
 *
 * Invariant: an event is in the map, or in one stretch, in which ids ascend with seqs.
 */
import type { Seq } from "../../model/event.js";
import type { Kept, PartitionLog } from "./partition-log.js";

/** A stretch that ends with fewer events than this goes into the map. */
const SHORT = 256;
/** With more stretches than this to look at, each question puts some events of the oldest one into the map. */
const FEW = 8;
const TAKE_IN_EVENTS = 1_024;

/** All events of a partition in (after, through] that are present. */
class Stretch {
  readonly log: PartitionLog;
  after: Seq;
  through: Seq;
  readonly lowest: string;
  highest: string;

  constructor(log: PartitionLog, first: Kept) {
    this.log = log;
    this.after = first.seq - 1;
    this.through = first.seq;
    this.lowest = first.id;
    this.highest = first.id;
  }

  find(id: string): Kept | undefined {
    if (id < this.lowest || id > this.highest) return undefined;
    return this.log.withId(id, this.after, this.through);
  }
}

export class IdIndex {
  readonly #ids = new Map<string, Kept>();
  /** The oldest first. */
  readonly #stretches = new Set<Stretch>();
  /** Those at the end of their partition. */
  readonly #growing = new Map<PartitionLog, Stretch>();
  /** The one of these that grew last: appends come in batches. */
  #last: Stretch | undefined;
  /** Events that are in stretches. */
  #outside = 0;

  get size(): number {
    return this.#ids.size + this.#outside;
  }

  get(id: string): Kept | undefined {
    if (this.#stretches.size > FEW) this.#takeInOldest();
    const known = this.#ids.get(id);
    if (known !== undefined) return known;
    for (const stretch of this.#stretches) {
      const found = stretch.find(id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The event was just added to the log. `fresh`: the bus just made its id. */
  add(log: PartitionLog, event: Kept, fresh: boolean): void {
    const growing = this.#last?.log === log ? this.#last : this.#growing.get(log);
    if (growing !== undefined && fresh && event.id > growing.highest) {
      growing.highest = event.id;
      growing.through = event.seq;
      this.#last = growing;
      this.#outside++;
      return;
    }
    if (growing !== undefined) this.#end(growing);
    if (fresh) this.#begin(new Stretch(log, event));
    else this.#ids.set(event.id, event);
  }

  /** The events were just removed from the log. */
  forget(log: PartitionLog, events: readonly Kept[]): void {
    for (const { id } of events) if (!this.#ids.delete(id)) this.#outside--;
    for (const stretch of this.#stretches)
      if (stretch.log === log && stretch.through < log.low) this.#letGo(stretch);
  }

  #begin(stretch: Stretch): void {
    this.#stretches.add(stretch);
    this.#growing.set(stretch.log, stretch);
    this.#last = stretch;
    this.#outside++;
  }

  #end(stretch: Stretch): void {
    if (stretch.through - stretch.after < SHORT) this.#takeIn(stretch, SHORT);
    this.#growing.delete(stretch.log);
    if (this.#last === stretch) this.#last = undefined;
  }

  #letGo(stretch: Stretch): void {
    this.#stretches.delete(stretch);
    if (this.#growing.get(stretch.log) === stretch) this.#growing.delete(stretch.log);
    if (this.#last === stretch) this.#last = undefined;
  }

  #takeInOldest(): void {
    for (const stretch of this.#stretches) {
      this.#takeIn(stretch, TAKE_IN_EVENTS);
      return;
    }
  }

  /** Puts its first seqs, so many, into the map. */
  #takeIn(stretch: Stretch, seqs: number): void {
    const through = Math.min(stretch.through, Math.max(stretch.after, stretch.log.low - 1) + seqs);
    for (const event of stretch.log.keptIn(stretch.after, through)) {
      this.#ids.set(event.id, event);
      this.#outside--;
    }
    stretch.after = through;
    if (through === stretch.through) this.#letGo(stretch);
  }
}
