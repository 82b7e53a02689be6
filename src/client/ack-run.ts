/**
 * Acks that follow each other make one frame: those of one subscription by the numbers of their leases, or, where events came by
 * themselves, those of one subscription, attempt and epoch by the events' ids.
 */
import { MAX_ACKED } from "../hub/protocol.js";

/** What the leases of events that came together have in common. */
export interface Leased {
  /** As it was subscribed to. */
  readonly topic: string;
  readonly group: string;
  readonly attempt: number;
  readonly epoch: number;
}

/** The number of a lease, or the id of an event that came by itself. */
export type LeaseMark = number | string;

export class AckRun {
  readonly #leased: Leased;
  /** First and last of each range, one after the other; empty if these are named by ids. */
  readonly #ranges: number[] = [];
  readonly #ids: string[] = [];
  #count = 1;

  constructor(leased: Leased, mark: LeaseMark) {
    this.#leased = leased;
    if (typeof mark === "number") this.#ranges.push(mark, mark);
    else this.#ids.push(mark);
  }

  /** False if it is of another kind, or if there are too many: it begins a run of its own. */
  add(leased: Leased, mark: LeaseMark): boolean {
    if (this.#count === MAX_ACKED) return false;
    const isTaken = typeof mark === "number" ? this.#addNumber(leased, mark) : this.#addId(leased, mark);
    if (isTaken) this.#count++;
    return isTaken;
  }

  /** The frame; of several ids only to a hub that takes them. */
  text(): string {
    const { topic, group, attempt, epoch } = this.#leased;
    const [id, ...others] = this.#ids;
    if (id === undefined) return JSON.stringify({ type: "ACK", topic, group, leases: pairs(this.#ranges) });
    const named = others.length === 0 ? { id } : { ids: this.#ids };
    return JSON.stringify({ type: "ACK", topic, group, ...named, attempt, epoch });
  }

  #addNumber(leased: Leased, lease: number): boolean {
    const ranges = this.#ranges;
    if (ranges.length === 0 || !this.#isOfSubscription(leased)) return false;
    if (ranges.at(-1) === lease - 1) ranges[ranges.length - 1] = lease;
    else ranges.push(lease, lease);
    return true;
  }

  #addId(leased: Leased, id: string): boolean {
    const { attempt, epoch } = this.#leased;
    const isAlike = leased.attempt === attempt && leased.epoch === epoch && this.#isOfSubscription(leased);
    if (this.#ids.length === 0 || !isAlike) return false;
    this.#ids.push(id);
    return true;
  }

  #isOfSubscription({ topic, group }: Leased): boolean {
    return topic === this.#leased.topic && group === this.#leased.group;
  }
}

function pairs(ranges: readonly number[]): number[][] {
  const paired: number[][] = [];
  for (let i = 0; i < ranges.length; i += 2) paired.push(ranges.slice(i, i + 2));
  return paired;
}
