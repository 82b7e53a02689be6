/** What a part of the fault run has to tell: what was done to the system, what was looked at, and what was wrong. */

export interface FaultAnomaly {
  /** A class of src/testing/history, or a word of the part's own. */
  readonly class: string;
  readonly says: string;
}

export interface PartReport {
  /** By kind: how often it was done. */
  readonly faults: Readonly<Record<string, number>>;
  /** By kind: how many were judged. */
  readonly checked: Readonly<Record<string, number>>;
  readonly anomalies: readonly FaultAnomaly[];
  /** Figures and conditions worth knowing. */
  readonly notes: readonly string[];
}

/** What every part is given. */
export interface PartOptions {
  readonly seed: number;
  /** Rounds, images, seeds, inputs … whatever the part counts in. */
  readonly count: number;
  /** It goes on after `count` until then, on performance.now()'s scale. */
  readonly untilMs?: number;
}

/** Whether a part goes on after `done` rounds. */
export function goesOn({ count, untilMs = 0 }: PartOptions, done: number): boolean {
  return done < count || performance.now() < untilMs;
}

/** Counts up a report. */
export class Tally {
  readonly #faults: Record<string, number> = {};
  readonly #checked: Record<string, number> = {};
  readonly #anomalies: FaultAnomaly[] = [];
  readonly #notes: string[] = [];

  fault(kind: string, times = 1): void {
    this.#faults[kind] = (this.#faults[kind] ?? 0) + times;
  }

  checked(kind: string, times = 1): void {
    this.#checked[kind] = (this.#checked[kind] ?? 0) + times;
  }

  anomaly(name: string, says: string): void {
    this.#anomalies.push({ class: name, says });
  }

  note(text: string): void {
    this.#notes.push(text);
  }

  add(report: PartReport): void {
    for (const [kind, times] of Object.entries(report.faults)) this.fault(kind, times);
    for (const [kind, times] of Object.entries(report.checked)) this.checked(kind, times);
    this.#anomalies.push(...report.anomalies);
    this.#notes.push(...report.notes);
  }

  get anomalies(): readonly FaultAnomaly[] {
    return this.#anomalies;
  }

  report(): PartReport {
    return {
      faults: this.#faults,
      checked: this.#checked,
      anomalies: this.#anomalies,
      notes: this.#notes,
    };
  }
}
