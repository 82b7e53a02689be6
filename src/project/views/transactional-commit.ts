/** A commit of a transactional projector while it is under way, as those who come behind it see it. */
import type { GatheredWrites } from "./transaction.js";

/** How a commit ended: with what was first written, with what the handler wrote when it had to run again, or not at all. */
export type End = "as sent" | "again" | "failed";

export class Commit {
  /** What it was begun with; unknown where the handler runs inside the transaction. */
  readonly writes: GatheredWrites | undefined;
  readonly done: Promise<void>;
  readonly end: Promise<End>;
  /** Set at its first trouble: it will not end as it was sent. */
  isSpoiled = false;
  #before: Commit | undefined;

  /** `run` commits, and runs the handler again until that succeeds; it begins when everybody knows of this commit. */
  constructor(
    writes: GatheredWrites | undefined,
    before: Commit | undefined,
    run: (commit: Commit) => Promise<void>,
  ) {
    this.writes = writes;
    this.#before = before;
    this.done = Promise.resolve().then(() => run(this));
    this.end = this.done.then(
      () => this.#over(this.isSpoiled ? "again" : "as sent"),
      () => this.#over("failed"),
    );
  }

  /** The one it was sent behind, as long as it depends on that. */
  get before(): Commit | undefined {
    return this.#before;
  }

  /** From now on it stands alone: the one before it has ended. */
  stepForward(): void {
    this.#before = undefined;
  }

  #over(end: End): End {
    this.isSpoiled ||= end === "failed";
    this.#before = undefined;
    return end;
  }
}
