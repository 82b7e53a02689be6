/**
 * Schemas of a store as they are now: read when opened, and again every so often, so that a version that another process
 * registers is known here within `everyMs` and the time of one read; one that is registered through the same store object is
 * known at once. Until then this process writes and reads what it knows. While the store is away what is known stays known, and the task says so.
 */
import { type Clock, pause } from "../../model/clock.js";
import { BusError, describeThrown } from "../../model/errors.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { Handle, Task, TaskBoard, TaskReport, TaskState } from "../../model/task.js";
import type { Store } from "../../ports/store.js";
import type { SchemaRegistry } from "./registry.js";
import { StoredSchemaRegistry } from "./stored-registry.js";

const KIND = "schemas";
const DEFAULT_EVERY_MS = 5_000;

/** Of a bus its store, its clock and its tasks are needed; it ends with them. */
export interface SchemaHost {
  readonly store: Pick<Store, "registry">;
  readonly clock: Clock;
  readonly tasks: TaskBoard;
}

/** What to register at the start, and how old what is known may be. */
export interface OpenSchemasOptions {
  /** Registers every version declared here when it opens. */
  readonly declared?: SchemaRegistry;
  /** How old what is known may be. Default 5,000. */
  readonly everyMs?: number;
}

const OPTIONS = namesOf<OpenSchemasOptions>({ declared: true, everyMs: true });

/**
 * The schemas of the bus's store, kept up to date until the bus closes.
 *
 * @example
 * const schemas = await openSchemas(bus, { declared: reg });
 * const checked = withSchemaValidation(bus, schemas);
 */
export async function openSchemas(
  host: SchemaHost,
  options: OpenSchemasOptions = {},
): Promise<StoredSchemaRegistry> {
  checkOptionNames("openSchemas", options, OPTIONS);
  const { declared, everyMs = DEFAULT_EVERY_MS } = options;
  if (!(Number.isFinite(everyMs) && everyMs > 0)) {
    throw new BusError("INVALID_OPTION", "everyMs must be a number above 0");
  }
  const { store, clock, tasks } = host;
  const schemas = await StoredSchemaRegistry.open(store.registry, { clock, ...(declared && { declared }) });
  tasks.add(new Follower(schemas, { clock, tasks, everyMs }));
  return schemas;
}

interface Following {
  readonly clock: Clock;
  readonly tasks: TaskBoard;
  readonly everyMs: number;
}

class Follower implements Task {
  readonly handle: Handle;
  readonly #schemas: StoredSchemaRegistry;
  readonly #following: Following;
  readonly #startedMs: number;
  readonly #over = new AbortController();
  readonly #unfollow: () => void;
  readonly #running: Promise<void>;
  #state: TaskState = "running";
  #reads = 0;
  #failures = 0;
  #lastError: string | undefined;

  constructor(schemas: StoredSchemaRegistry, following: Following) {
    this.#schemas = schemas;
    this.#following = following;
    this.#startedMs = following.clock.now();
    this.handle = { name: KIND, stop: () => this.#stop(), stats: () => ({ reads: this.#reads }) };
    this.#unfollow = schemas.follow();
    this.#running = this.#run();
  }

  report(): TaskReport {
    return {
      name: KIND,
      kind: KIND,
      state: this.#state,
      startedMs: this.#startedMs,
      restarts: this.#failures,
      ...(this.#lastError !== undefined && { lastError: this.#lastError }),
      stats: this.handle.stats(),
    };
  }

  async #run(): Promise<void> {
    const { signal } = this.#over;
    const { clock, everyMs } = this.#following;
    for (;;) {
      await pause(clock, everyMs, signal);
      if (signal.aborted) return;
      await this.#look();
    }
  }

  async #look(): Promise<void> {
    try {
      await this.#schemas.refresh();
      this.#reads++;
      this.#state = "running";
    } catch (error) {
      this.#failures++;
      this.#state = "retrying";
      this.#lastError = describeThrown(error);
    }
  }

  async #stop(): Promise<void> {
    this.#unfollow();
    this.#over.abort();
    await this.#running;
    this.#state = "stopped";
    this.#following.tasks.remove(this);
  }
}
