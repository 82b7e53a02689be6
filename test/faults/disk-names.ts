/** What the processes of the disk tests agree on. */
export const TOPIC = "disk.events";
export const PARTITIONS = 2;
export const PROJECTION = "projection";
export const VIEW = "counts";

/** A topic that comes and goes, with dead letters and a group of its own. */
export const PASSING = "disk.passing";
export const PASSING_LETTERS = `dlq.${PASSING}`;
export const PASSING_PARTITIONS = 3;
export const PASSING_GROUP = "reader";

/** A line that the writing process leaves behind once a publish was acknowledged. */
export interface AckLine {
  readonly id: string;
  readonly partition: number;
  readonly seq: number;
}

/** One of a call that failed, with its error's code. */
export interface FailedLine {
  readonly failed: string;
  readonly id: string;
}

/** What becomes of the topic that comes and goes; `asked` and `removing` are there before the call is made. */
export type PassingLine =
  | { readonly passing: "asked" | "removing" | "removed" }
  | { readonly passing: "kept"; readonly code: string }
  | (AckLine & { readonly passing: "acked" });

export type DiskLine = AckLine | FailedLine | PassingLine;

/** Of the events that stay. */
export function isAck(line: DiskLine): line is AckLine {
  return "seq" in line && !("passing" in line);
}

export function isPassing(line: DiskLine): line is PassingLine {
  return "passing" in line;
}

export function linesIn(text: string): DiskLine[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as DiskLine);
}
