/** Long-running parts (projectors, drainers, compactors …) as others see them: what they are called and how they do. */
import { FirstFailure } from "./first-failure.js";
import type { Trouble } from "./trouble.js";

/** Where a task is in its life: `retrying` waits to start again after a failure, `failed` does not start again. */
export type TaskState = "starting" | "running" | "retrying" | "stopped" | "failed";

/** The figures that a task tells of itself; which they are depends on its kind. */
export type TaskStats = Readonly<Record<string, unknown>>;

/** What every `start…` returns. */
export interface Handle<S extends TaskStats = TaskStats> {
  readonly name: string;
  /** Finishes what is under way, then ends. Twice is harmless. */
  stop(): Promise<void>;
  stats(): S;
  /** For work that ends by itself: resolves when it has, rejects if it failed for good. */
  readonly done?: Promise<void>;
}

/** What the task board says of a projector, feed, drainer or other long-running part. */
export interface TaskReport {
  readonly name: string;
  readonly kind: string;
  readonly state: TaskState;
  readonly startedMs: number;
  readonly restarts: number;
  readonly lastError?: string;
  readonly stats: TaskStats;
}

/** A task on the board. */
export interface Task {
  readonly handle: Handle;
  report(): TaskReport;
}

/** The tasks of one bus, for those who look after it; all are stopped when the bus closes. */
export class TaskBoard {
  readonly #tasks = new Set<Task>();
  #closed = false;
  /** What a task gets over by itself, or gives up, is told here. */
  readonly tell: (trouble: Trouble) => void;

  constructor(tell: (trouble: Trouble) => void = () => undefined) {
    this.tell = tell;
  }

  /** One that was still starting when the bus closed is stopped as soon as it comes. */
  add(task: Task): void {
    this.#tasks.add(task);
    // Not at once: whoever adds it may not have set it up to the end.
    if (this.#closed) queueMicrotask(() => void task.handle.stop().catch(() => undefined));
  }

  remove(task: Task): void {
    this.#tasks.delete(task);
  }

  reports(): TaskReport[] {
    return [...this.#tasks].map((task) => task.report()).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The last started first: what feeds on others stops before them. One that fails is told of when all are stopped. */
  async stopAll(): Promise<void> {
    this.#closed = true;
    const failures = new FirstFailure();
    for (const task of [...this.#tasks].reverse()) await failures.note(task.handle.stop());
    failures.throwIfAny();
  }
}
