/** What the processes of the disk tests agree on. */
export const TOPIC = "disk.events";
export const PARTITIONS = 2;
export const PROJECTION = "projection";
export const VIEW = "counts";

/** A line that the writing process leaves behind once a publish was acknowledged. */
export interface AckLine {
  readonly id: string;
  readonly partition: number;
  readonly seq: number;
}
