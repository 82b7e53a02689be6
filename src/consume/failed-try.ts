/** What those who listen to troubles are told of a try that failed, and that is not the last one of its event. */
import { BusError } from "../model/errors.js";
import { leftOutText } from "../model/seldom.js";
import { eventInWords } from "../model/told-tries.js";
import type { GroupPartition } from "../ports/groups.js";
import type { Entry, Lease } from "./entry.js";

export interface FailedTry {
  readonly entry: Entry;
  /** As it was while the try was under way: the event may be handed out again by now. */
  readonly lease: Lease | null;
  readonly error: string;
  /** What was thrown, where it is known. */
  readonly thrown: unknown;
  /** False if it was in a batch, of which another event may be at fault. */
  readonly counts: boolean;
}

/** The failed tries of one partition, as they are told on: each that is not the last one of its event. */
export class FailedTries {
  readonly #tell: (failed: FailedTry) => void;
  /** What the events of the last batch that failed as a whole have in common: the first of them is told. */
  #lastBatch: Lease | null = null;

  constructor(tell: (failed: FailedTry) => void) {
    this.#tell = tell;
  }

  add(failed: FailedTry): void {
    // Of the last one its dead letter tells.
    if (failed.entry.standing === "burying") return;
    if (!failed.counts) {
      if (failed.lease === this.#lastBatch) return;
      this.#lastBatch = failed.lease;
    }
    this.#tell(failed);
  }

  /** Its deadline has passed. */
  addOverdue(entry: Entry): void {
    const { lease, story } = entry;
    const counts = lease?.batchOf === 1;
    this.add({ entry, lease, error: story.error ?? "", thrown: undefined, counts });
  }
}

/** As of a dead letter, what the handler said stands in the cause alone. */
export function failedTryTrouble(
  { entry, lease, error, thrown, counts }: FailedTry,
  { topic, group }: GroupPartition,
  leftOut: number,
): BusError {
  const { failures } = entry;
  const { id = "", key } = entry.event ?? {};
  const { policy, batchOf = 1 } = lease ?? {};
  const named = eventInWords(id, key, topic);
  // Where nothing is given up, or nothing may be for now, there is no last try.
  const isCounted = policy?.deadLetter === true && failures < policy.maxAttempts;
  const tries = `try ${failures}${isCounted ? ` of ${policy.maxAttempts}` : ""}`;
  const what = counts
    ? `${named}, ${tries}, to be tried again in ${wait(entry.story.waitMs)}`
    : `a batch of ${batchOf} with ${named}, to be tried again in halves`;
  return new BusError("HANDLER_FAILED", `${group} failed on ${what}${leftOutText(leftOut)}`, {
    cause: thrown instanceof Error ? thrown : error,
    details: {
      id,
      ...(key !== undefined && { key }),
      ...(counts ? { attempt: failures, retryInMs: Math.round(entry.story.waitMs) } : { batchOf }),
      ...(isCounted && counts && { maxAttempts: policy.maxAttempts }),
      ...(leftOut > 0 && { leftOut }),
    },
  });
}

function wait(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}
