/** Counts per version of a schema: which versions are still written, and which are still read. */
import type { ValidationOutcome } from "../../model/meter.js";
import type { GroupRef } from "../../ports/groups.js";

export interface ValidatedCount {
  readonly topic: string;
  readonly version: string;
  readonly outcome: ValidationOutcome;
  count: number;
}

export interface NormalizedCount {
  readonly topic: string;
  readonly group: string;
  readonly version: string;
  count: number;
}

/** Series beyond these are not followed (P13): versions are few, topics may not be. */
const MAX_SERIES = 10_000;

export class SchemaSeries {
  readonly #validated = new Map<string, ValidatedCount>();
  readonly #normalized = new Map<string, NormalizedCount>();

  get validated(): Iterable<ValidatedCount> {
    return this.#validated.values();
  }

  get normalized(): Iterable<NormalizedCount> {
    return this.#normalized.values();
  }

  addValidated(topic: string, version: number | undefined, outcome: ValidationOutcome): void {
    const series = { topic, version: String(version ?? "none"), outcome, count: 0 };
    add(this.#validated, `${topic} ${series.version} ${outcome}`, series);
  }

  addNormalized(topic: string, group: string, version: number | undefined): void {
    const series = { topic, group, version: String(version ?? "none"), count: 0 };
    add(this.#normalized, `${topic} ${series.version} ${group}`, series);
  }

  forgetTopics(isOver: (topic: string) => boolean): void {
    for (const [key, { topic }] of this.#validated) if (isOver(topic)) this.#validated.delete(key);
  }

  forgetGroups(isOver: (ref: GroupRef) => boolean): void {
    for (const [key, series] of this.#normalized) if (isOver(series)) this.#normalized.delete(key);
  }
}

function add<S extends { count: number }>(all: Map<string, S>, key: string, fresh: S): void {
  let series = all.get(key);
  if (series === undefined) {
    if (all.size >= MAX_SERIES) return;
    series = fresh;
    all.set(key, series);
  }
  series.count++;
}
