/** What a bus tells those who measure it. Nothing is measured while nobody listens. */

export interface Meter {
  published(topic: string, events: number): void;
  /** Handed to a handler. */
  delivered(topic: string, group: string, events: number): void;
  acked(topic: string, group: string, events: number): void;
  nacked(topic: string, group: string): void;
  deadLettered(topic: string, group: string): void;
  /** From hand-out to settlement, of so many events that were handed out and settled together. */
  handled(topic: string, group: string, durationMs: number, events: number): void;
  /** A read of the log on behalf of a group. */
  polled(topic: string, group: string, durationMs: number): void;
  /** An append, from the first event's wait to its answer. */
  committed(topic: string, durationMs: number): void;
  /** A payload was held against its topic's schema. No version: it has none, or does not fit. */
  validated?(topic: string, version: number | undefined, outcome: ValidationOutcome): void;
  /** An event was brought to the newest version for a reader; `version` is the one it was written in, if it says. */
  normalized?(topic: string, group: string, version: number | undefined): void;
}

/** It fits; it does not and was refused, or published nevertheless; nobody looked. */
export type ValidationOutcome = "valid" | "rejected" | "warned" | "unchecked";

/** Any number of meters as one. */
export class Meters implements Meter {
  readonly #meters = new Set<Meter>();

  /** False while measuring would be for nobody. */
  get active(): boolean {
    return this.#meters.size > 0;
  }

  add(meter: Meter): () => void {
    this.#meters.add(meter);
    return () => void this.#meters.delete(meter);
  }

  published(topic: string, events: number): void {
    for (const meter of this.#meters) meter.published(topic, events);
  }

  delivered(topic: string, group: string, events: number): void {
    for (const meter of this.#meters) meter.delivered(topic, group, events);
  }

  acked(topic: string, group: string, events: number): void {
    for (const meter of this.#meters) meter.acked(topic, group, events);
  }

  nacked(topic: string, group: string): void {
    for (const meter of this.#meters) meter.nacked(topic, group);
  }

  deadLettered(topic: string, group: string): void {
    for (const meter of this.#meters) meter.deadLettered(topic, group);
  }

  handled(topic: string, group: string, durationMs: number, events: number): void {
    for (const meter of this.#meters) meter.handled(topic, group, durationMs, events);
  }

  polled(topic: string, group: string, durationMs: number): void {
    for (const meter of this.#meters) meter.polled(topic, group, durationMs);
  }

  committed(topic: string, durationMs: number): void {
    for (const meter of this.#meters) meter.committed(topic, durationMs);
  }

  validated(topic: string, version: number | undefined, outcome: ValidationOutcome): void {
    for (const meter of this.#meters) meter.validated?.(topic, version, outcome);
  }

  normalized(topic: string, group: string, version: number | undefined): void {
    for (const meter of this.#meters) meter.normalized?.(topic, group, version);
  }
}
