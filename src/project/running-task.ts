/**
 * One lifecycle for all long-running parts: started, running, waiting to be tried again after an error, stopped.
 *
 *   starting --ready--> running --error--> retrying --time--> running
 *      any --stop--> stopped        work that ends by itself --> stopped | failed
 */
import { type Clock, pause } from "../model/clock.js";
import { BusError, describeThrown } from "../model/errors.js";
import { backoffMs, DEFAULT_RETRY, type RetryPolicy } from "../model/retry.js";
import type { Handle, Task, TaskBoard, TaskReport, TaskState, TaskStats } from "../model/task.js";
import type { TaskHealth } from "./task-health.js";

export interface TaskOptions<S extends TaskStats> {
  readonly kind: string;
  readonly name: string;
  readonly clock: Clock;
  readonly board: TaskBoard;
  readonly stats: () => S;
}

class RunningTask<S extends TaskStats> implements Task {
  readonly #options: TaskOptions<S>;
  readonly #startedMs: number;
  readonly handle: Handle<S>;
  state: TaskState = "starting";
  restarts = 0;
  lastError: string | undefined;
  health: TaskHealth | undefined;

  constructor(options: TaskOptions<S>, stop: () => Promise<void>, done?: Promise<void>) {
    this.#options = options;
    this.#startedMs = options.clock.now();
    let stopping: Promise<void> | null = null;
    this.handle = {
      name: options.name,
      stop: () => {
        stopping ??= stop().finally(() => this.end("stopped"));
        return stopping;
      },
      stats: options.stats,
      ...(done && { done }),
    };
    options.board.add(this);
  }

  end(state: "stopped" | "failed"): void {
    this.state = state;
    this.#options.board.remove(this);
  }

  report(): TaskReport {
    const { name, kind, stats } = this.#options;
    const { failing = false, failures = this.restarts, lastError = this.lastError } = this.health ?? {};
    return {
      name,
      kind,
      state: failing && this.state === "running" ? "retrying" : this.state,
      startedMs: this.#startedMs,
      restarts: failures,
      ...(lastError === undefined ? undefined : { lastError }),
      stats: stats(),
    };
  }
}

/** A part that lives in a subscription, which retries by itself: on the board until it is stopped. */
export function subscribedTask<S extends TaskStats>(
  options: TaskOptions<S>,
  stop: () => Promise<void>,
  health: TaskHealth,
): Handle<S> {
  const task = new RunningTask(options, stop);
  task.state = "running";
  task.health = health;
  return task.handle;
}

/** A part that does a round of work every so often, or when woken; a round that fails is tried again with backoff. */
export interface Rounds {
  readonly everyMs: number;
  /** True if there is more to do at once. */
  round(signal: AbortSignal): Promise<boolean>;
  readonly retry?: Partial<RetryPolicy>;
  /** Called once, after the last round. */
  readonly close?: () => Promise<void> | void;
}

export interface RoundsHandle<S extends TaskStats> extends Handle<S> {
  /** Begins the next round now. */
  wake(): void;
}

export function roundsTask<S extends TaskStats>(options: TaskOptions<S>, rounds: Rounds): RoundsHandle<S> {
  const over = new AbortController();
  let nap = new AbortController();
  const wake = (): void => nap.abort();
  over.signal.addEventListener("abort", wake);
  const retry = { ...DEFAULT_RETRY, maxMs: 30_000, ...rounds.retry };
  const loop = async (): Promise<void> => {
    for (let failures = 0; !over.signal.aborted; ) {
      nap = new AbortController();
      let waitMs = rounds.everyMs;
      try {
        task.state = "running";
        if (await rounds.round(over.signal)) waitMs = 0;
        failures = 0;
      } catch (error) {
        if (over.signal.aborted) return;
        task.state = "retrying";
        task.restarts++;
        task.lastError = describeThrown(error);
        waitMs = backoffMs(retry, ++failures, options.clock.random());
      }
      if (waitMs > 0 && !over.signal.aborted) await pause(options.clock, waitMs, nap.signal);
    }
  };
  const task: RunningTask<S> = new RunningTask(options, async () => {
    over.abort();
    await running;
    await rounds.close?.();
  });
  const running = loop();
  return Object.assign(task.handle, { wake });
}

/** Work that ends by itself; `stop` interrupts it. */
export function finiteTask<S extends TaskStats>(
  options: TaskOptions<S>,
  work: (signal: AbortSignal) => Promise<void>,
): Handle<S> & { readonly done: Promise<void> } {
  const over = new AbortController();
  const done: Promise<void> = work(over.signal).then(
    () => task.end("stopped"),
    (error: unknown) => {
      task.lastError = describeThrown(error);
      task.end("failed");
      throw BusError.from(error);
    },
  );
  // Whoever does not look at `done` finds the failure in the report.
  done.catch(() => undefined);
  const task: RunningTask<S> = new RunningTask(
    options,
    async () => {
      over.abort();
      await done.catch(() => undefined);
    },
    done,
  );
  task.state = "running";
  return task.handle as Handle<S> & { readonly done: Promise<void> };
}
