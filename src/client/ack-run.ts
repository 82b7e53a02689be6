/** Acks that follow each other: as long as they are of one subscription, attempt and epoch they make one frame. */
import { type AckFrame, type AckManyFrame, MAX_ACKED_IDS } from "../hub/protocol.js";

export class AckRun {
  readonly #first: AckFrame;
  readonly #ids: string[];

  constructor(first: AckFrame) {
    this.#first = first;
    this.#ids = [first.id];
  }

  /** False if it is of another kind, or if there are too many: it begins a run of its own. */
  add(ack: AckFrame): boolean {
    const first = this.#first;
    const isAlike =
      ack.topic === first.topic &&
      ack.group === first.group &&
      ack.attempt === first.attempt &&
      ack.epoch === first.epoch;
    if (!isAlike || this.#ids.length === MAX_ACKED_IDS) return false;
    this.#ids.push(ack.id);
    return true;
  }

  frame(): AckFrame | AckManyFrame {
    if (this.#ids.length === 1) return this.#first;
    const { id: _, ...shared } = this.#first;
    return { ...shared, ids: this.#ids };
  }
}
