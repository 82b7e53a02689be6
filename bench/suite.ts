/** What a benchmark suite is: cases that are measured in turns, and ratios between them. */

/** A number with a name: "events/s", "bytes", "µs/event" … */
export interface Figure {
  readonly name: string;
  readonly unit: string;
}

export interface Case extends Figure {
  /** Further figures of the same measurement. */
  readonly also?: readonly Figure[];
  /**
   * One measurement: its figure, or with `also` an array that begins with it. What it needs it makes and frees itself,
   * outside of what it measures.
   */
  measure(): Promise<number | readonly number[]>;
}

/** One figure divided by another, round by round: what holds on a slow machine too. */
export interface Ratio {
  readonly name: string;
  /** Names of figures. */
  readonly of: string;
  readonly to: string;
  readonly atMost?: number;
  readonly atLeast?: number;
}

export interface Suite {
  readonly name: string;
  readonly cases: readonly Case[];
  readonly ratios: readonly Ratio[];
}
