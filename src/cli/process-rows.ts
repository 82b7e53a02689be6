/** What the table shows: the newest state of each process, from the events of `process.state` in their order. */
import type { EventRecord } from "../model/event.js";
import type { ProcessState } from "../project/process/process-topics.js";

export class ProcessRows {
  readonly #states = new Map<string, ProcessState>();

  get size(): number {
    return this.#states.size;
  }

  apply({ key, payload }: Pick<EventRecord<ProcessState | null>, "key" | "payload">): void {
    if (key === undefined) return;
    if (payload === null) this.#states.delete(key);
    else this.#states.set(key, payload);
  }

  /** Busiest first; stale ones at the end. */
  sorted(): ProcessState[] {
    return [...this.#states.values()].sort(
      (a, b) =>
        rank(a) - rank(b) ||
        b.cpu_pct - a.cpu_pct ||
        b.mem_mb - a.mem_mb ||
        (a.processId < b.processId ? -1 : 1),
    );
  }
}

function rank({ status }: ProcessState): number {
  return status === "alive" ? 0 : 1;
}
