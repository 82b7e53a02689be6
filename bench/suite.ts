/** What a benchmark suite is: cases that are measured in turns, and ratios between them. */

/** Bounds that a figure or a ratio is held to. */
export interface Goal {
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** A number with a name: "events/s", "bytes", "µs/event" … Cases of one kind share what stands before ": ". */
export interface Figure extends Goal {
  readonly name: string;
  readonly unit: string;
}

export interface Case extends Figure {
  /** Further figures of the same measurement. */
  readonly also?: readonly Figure[];
  /** What has happened to an event before its sender is told: nobody is compared without it. */
  readonly durability?: string;
  /** Cases of one place share a process with each other and with nobody else; those without one share one, too. */
  readonly place?: string;
  /**
   * One measurement: its figure, or with `also` an array that begins with it. What it needs it makes and frees itself,
   * outside of what it measures.
   */
  measure(): Promise<number | readonly number[]>;
}

/** One figure divided by another, round by round: what holds on a slow machine too. */
export interface Ratio extends Goal {
  readonly name: string;
  /** Names of figures. */
  readonly of: string;
  readonly to: string;
}

/** A figure that cannot be taken here, or what stands behind ": " in the names of several. */
export interface Absent {
  readonly name: string;
  readonly why: string;
}

export interface Suite {
  readonly name: string;
  readonly cases: readonly Case[];
  /** Rounds before the first that counts. Default 1. */
  readonly warmUps?: number;
  readonly ratios: readonly Ratio[];
  /** Ratios that name one of these are left out. */
  readonly absent?: readonly Absent[];
  /** Ends what the cases share. */
  close?(): Promise<void>;
}
