/** What the consumers of numbered events saw, and what of it must not be. */
import type { EventRecord } from "../../src/model/event.js";

export class Sightings {
  /** By id, in the order in which they came. */
  readonly attempts = new Map<string, number[]>();
  readonly #firsts = new Map<string, number[]>();

  readonly see = (event: EventRecord<number>, attempt: number): void => {
    const before = this.attempts.get(event.id);
    this.attempts.set(event.id, [...(before ?? []), attempt]);
    if (before !== undefined) return;
    const key = event.key ?? "";
    this.#firsts.set(key, [...(this.#firsts.get(key) ?? []), event.payload]);
  };

  get deliveries(): number {
    return [...this.attempts.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** Events that came a second time as if it were the first. */
  get unmarked(): string[] {
    return [...this.attempts].filter(([, all]) => all.slice(1).some((n) => n === 1)).map(([id]) => id);
  }

  /** Keys whose events were first seen out of order. */
  get disordered(): string[] {
    const ascending = (list: readonly number[]): boolean =>
      list.every((n, i) => i === 0 || n > (list[i - 1] ?? 0));
    return [...this.#firsts].filter(([, seen]) => !ascending(seen)).map(([key]) => key);
  }
}
