/** The worked example as one thing: the heartbeats of this machine, their projections, and what came of them. */
import type { Bus } from "../bus/bus.js";
import { describeThrown } from "../model/errors.js";
import type { EventRecord, Seq } from "../model/event.js";
import type { Handle } from "../model/task.js";
import { startCompactor } from "../project/history/compactor.js";
import { type HeartbeatSourceStats, startHeartbeatSource } from "../project/process/heartbeat-source.js";
import { startHostSummary } from "../project/process/host-summary.js";
import { startProcessChangelog } from "../project/process/process-changelog.js";
import { type ProcessProjectorStats, startProcessProjector } from "../project/process/process-projector.js";
import { heartbeatTopic, type ProcessState, processStateTopic } from "../project/process/process-topics.js";
import { startRetention } from "../project/retention/retention.js";
import { ProcessRows } from "./process-rows.js";
import type { TableFigures } from "./table-frame.js";

/** Trouble is shown for this long after it was last heard of. */
const TROUBLE_MS = 10_000;
const PAGE = 1_000;

/** The newest thing that went wrong, as long as it is news. */
export class RecentTrouble {
  #text = "";
  #atMs = Number.NEGATIVE_INFINITY;

  readonly note = (error: unknown): void => {
    this.#text = describeThrown(error);
    this.#atMs = performance.now();
  };

  get text(): string | undefined {
    return performance.now() - this.#atMs < TROUBLE_MS ? this.#text : undefined;
  }
}

interface Parts {
  readonly bus: Bus;
  readonly source: Handle<HeartbeatSourceStats>;
  readonly projector: Handle<ProcessProjectorStats>;
  readonly trouble: RecentTrouble;
}

export class WatchedMachine {
  readonly rows = new ProcessRows();
  readonly #parts: Parts;
  readonly #startedMs = performance.now();
  /** How far each partition of `process.state` was read. */
  readonly #read = new Map<number, Seq>();
  #lag = 0;

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Whatever it starts on the bus stops when the bus closes. */
  static async start(bus: Bus, trouble: RecentTrouble): Promise<WatchedMachine> {
    const projector = await startProcessProjector(bus);
    await startProcessChangelog(bus);
    await startHostSummary(bus);
    const source = startHeartbeatSource(bus);
    // However long it runs, what is kept stays about the same.
    startRetention(bus);
    startCompactor(bus);
    return new WatchedMachine({ bus, source, projector, trouble });
  }

  /** Takes in what happened since the last time; what goes wrong is shown, and the next time may do better. */
  async refresh(): Promise<void> {
    try {
      await this.#readStates();
      const { bus, projector } = this.#parts;
      const position = await bus.getCursor(heartbeatTopic.name, projector.name);
      this.#lag = position?.partitions.reduce((sum, { lag }) => sum + lag, 0) ?? 0;
    } catch (error) {
      this.#parts.trouble.note(error);
    }
  }

  /** Outside any group, so that every terminal sees everything. */
  async #readStates(): Promise<void> {
    const { log } = this.#parts.bus.store;
    for (const { partition, head } of await log.heads(processStateTopic.name)) {
      let after = this.#read.get(partition) ?? 0;
      while (after < head) {
        const page = await log.read(processStateTopic.name, partition, { after, limit: PAGE });
        for (const { record } of page.events) this.rows.apply(record as EventRecord<ProcessState | null>);
        after = page.through;
      }
      this.#read.set(partition, after);
    }
  }

  get figures(): TableFigures {
    const { bus, source, projector, trouble } = this.#parts;
    const { heartbeats, emitted } = projector.stats();
    const retrying = bus.tasks.reports().find(({ state }) => state === "retrying");
    return {
      published: source.stats().published + emitted,
      delivered: heartbeats,
      lag: this.#lag,
      uptimeMs: performance.now() - this.#startedMs,
      store: bus.store.name,
      trouble: trouble.text ?? retrying?.lastError,
    };
  }
}
