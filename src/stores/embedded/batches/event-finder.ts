/**
 * Finds single events in their batches. Those that are looked for one after the other are often neighbours: the batch of the last one
 * is looked into first, from where that one stands. Good as long as nothing is written.
 */
import type { Seq } from "../../../model/event.js";
import { type Batch, BatchCursor, packOne } from "../../batch-codec.js";
import type { Batches, BatchHead } from "./batches.js";

export class EventFinder {
  readonly #batches: Batches;
  #head: BatchHead | undefined;
  #batch: Batch | undefined;
  #cursor: BatchCursor | undefined;

  constructor(batches: Batches) {
    this.#batches = batches;
  }

  /** A cursor that stands on the event until the next one is looked for, or undefined if it was removed. */
  at(part: number, seq: Seq): BatchCursor | undefined {
    const head = this.#head;
    const isThere = head?.part === part && seq >= head.firstSeq && seq <= head.lastSeq;
    if (!isThere) this.#open(part, seq);
    if (this.#batch === undefined) return undefined;
    if (this.#cursor === undefined || this.#cursor.seq > seq) this.#cursor = new BatchCursor(this.#batch);
    const cursor = this.#cursor;
    while (cursor.seq < seq && cursor.next());
    return cursor.seq === seq ? cursor : undefined;
  }

  /** The event, packed alone. */
  alone(part: number, seq: Seq): Pick<Batch, "ids" | "data"> | undefined {
    const cursor = this.at(part, seq);
    return cursor && packOne(this.#batch as Batch, cursor);
  }

  #open(part: number, seq: Seq): void {
    this.#cursor = undefined;
    this.#batch = undefined;
    this.#head = this.#batches.holding(part, seq);
    if (this.#head !== undefined) this.#batch = this.#batches.load(this.#head);
  }
}
