/** What the meters are told of a group's events in one partition. Nothing is looked at while nobody listens. */
import type { Clock } from "../model/clock.js";
import type { Meters } from "../model/meter.js";
import type { GroupPartition } from "../ports/groups.js";
import type { Delivered } from "./context.js";

export class GroupMeter {
  readonly #meters: Meters;
  readonly #clock: Clock;
  readonly #topic: string;
  readonly #group: string;

  constructor(meters: Meters, clock: Clock, { topic, group }: GroupPartition) {
    this.#meters = meters;
    this.#clock = clock;
    this.#topic = topic;
    this.#group = group;
  }

  delivered(events: number): void {
    if (events > 0 && this.#meters.active) this.#meters.delivered(this.#topic, this.#group, events);
  }

  nacked(delivery: Delivered): void {
    if (!this.#meters.active) return;
    this.#meters.nacked(this.#topic, this.#group);
    this.#handled(delivery, this.#clock.steady(), 1);
  }

  /** Acked together: of those that were also handed out together, one after the other, all have taken the same time. */
  ackedAll(deliveries: readonly Delivered[]): void {
    if (deliveries.length === 0 || !this.#meters.active) return;
    this.#meters.acked(this.#topic, this.#group, deliveries.length);
    const nowMs = this.#clock.steady();
    for (let from = 0, end = 0; from < deliveries.length; from = end) {
      const first = deliveries[from] as Delivered;
      while (deliveries[end]?.handOut === first.handOut) end++;
      this.#handled(first, nowMs, end - from);
    }
  }

  deadLettered(): void {
    this.#meters.deadLettered(this.#topic, this.#group);
  }

  /** A read of the log that began at `startMs`. */
  polled(startMs: number): void {
    if (this.#meters.active) this.#meters.polled(this.#topic, this.#group, this.#clock.steady() - startMs);
  }

  #handled({ handOut }: Delivered, nowMs: number, events: number): void {
    this.#meters.handled(this.#topic, this.#group, nowMs - handOut.startedMs, events);
  }
}
