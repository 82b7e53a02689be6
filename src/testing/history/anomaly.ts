/** What can be wrong with a history, by class. */

export type AnomalyClass =
  /** P1, P15: an acked event is not in the log, or a group that drained never settled it. */
  | "lost"
  /** P2, P5: a cursor passed an event that nobody settled. */
  | "skipped"
  /** Delivered or logged, though nobody published it, or though the publisher was told that it failed. */
  | "phantom"
  /** P5: delivered again as if it were the first time. */
  | "duplicate-without-attempt"
  /** P5: delivered again by an owner that knew it to be settled. */
  | "redelivered"
  /** P4: delivered while an earlier event of its key was open. */
  | "key-order"
  /** P6: an ack of an attempt that was over was accepted. */
  | "stale-ack"
  /** P7: a write under an older epoch took effect, an epoch was granted twice, or a cursor went back. */
  | "zombie-write"
  /** P2: a seq is missing, or comes twice. */
  | "seq-gap"
  /** P2: an event that was asked for after another was acked stands before it. */
  | "log-order"
  /** P3: one id, two places. */
  | "id-twice"
  /** P8: given up without a copy in the dead-letter topic. */
  | "dlq-missing"
  /** P8: more than one copy. */
  | "dlq-double"
  /** P8: given up although it had tries left. */
  | "dlq-early"
  /** P9: an effect happened twice, or a view is not what its log says. */
  | "effect-twice"
  /** P15: faults are over and something still does not move. */
  | "stalled";

/** Something that a history must not have. */
export interface Anomaly {
  readonly class: AnomalyClass;
  /** What happened, in words, with ids. */
  readonly says: string;
}

export type Report = (anomaly: AnomalyClass, says: string) => void;
