/** What a benchmark suite is: cases that are measured in turns, and ratios between them. */

export interface Case {
  readonly name: string;
  /** Of what `measure` returns: "events/s", "bytes/event", "ms" … */
  readonly unit: string;
  /** One measurement. What it needs it makes and frees itself, outside of what it measures. */
  measure(): Promise<number>;
}

/** One case's figure divided by another's, round by round: what holds on a slow machine too. */
export interface Ratio {
  readonly name: string;
  /** Names of cases. */
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
