/**
 * What is leased to one subscription of a connection, under the names by which its client settles it: the ids of events that went
 * out by themselves, the numbers of those that went in runs.
 */
import type { Delivered } from "../../consume/context.js";
import { Numbered } from "../../model/numbered.js";
import { PassingMap } from "../../model/passing-map.js";
import type { LeaseName } from "../protocol.js";

export class Leases {
  readonly #byId = new PassingMap<string, Delivered>();
  readonly #byNumber = new Numbered<Delivered>();
  #last: number;

  /** `last`: all numbers up to it were given before on this connection, and mean something else (P6). */
  constructor(last: number) {
    this.#last = last;
  }

  get size(): number {
    return this.#byId.size + this.#byNumber.size;
  }

  /** The highest number that was given. */
  get last(): number {
    return this.#last;
  }

  add(delivery: Delivered): void {
    this.#byId.set(delivery.event.id, delivery);
  }

  /** The number that it has from now on. */
  addNumbered(delivery: Delivered): number {
    this.#byNumber.add(++this.#last, delivery);
    return this.#last;
  }

  /** Null if there is none, or if another attempt or epoch is named (P6). */
  find(name: LeaseName): Delivered | null {
    if ("lease" in name) return this.#byNumber.get(name.lease) ?? null;
    return this.#current(name.id, name.attempt, name.epoch);
  }

  /** As `find`; it is no longer here then. */
  take(name: LeaseName): Delivered | null {
    if ("lease" in name) return this.takeNumbered(name.lease);
    return this.takeById(name.id, name.attempt, name.epoch);
  }

  takeNumbered(lease: number): Delivered | null {
    return this.#byNumber.take(lease) ?? null;
  }

  takeById(id: string, attempt: number | undefined, epoch: number | undefined): Delivered | null {
    const delivery = this.#current(id, attempt, epoch);
    if (delivery !== null) this.#byId.delete(id);
    return delivery;
  }

  /** Takes out those whose deadline passed and whose event went elsewhere. */
  takeOver(): Delivered[] {
    const over = this.#byNumber.takeWhere((delivery) => !delivery.live);
    for (const [id, delivery] of this.#byId) {
      if (delivery.live) continue;
      this.#byId.delete(id);
      over.push(delivery);
    }
    return over;
  }

  #current(id: string, attempt: number | undefined, epoch: number | undefined): Delivered | null {
    const delivery = this.#byId.get(id);
    if (delivery === undefined) return null;
    if (attempt !== undefined && attempt !== delivery.attempt) return null;
    return epoch !== undefined && epoch !== delivery.source.epoch ? null : delivery;
  }
}
