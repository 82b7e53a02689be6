/**
 * The process projector: `heartbeat.received` becomes `process.state`. It decides in process-states.ts; here are the
 * subscription, the look at the clock, and the memory that comes back from the topic itself after a restart or when a
 * partition changes hands.
 *
 * What a heartbeat causes is emitted by its handler (P9); what silence causes has an id derived from the last
 * heartbeat, so that two owners who judge the same silence say it once.
 */

import { derivedId } from "../../model/derived-id.js";
import { Fatal } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import type { DeliveryContext } from "../../model/event-bus.js";
import { jumpHash } from "../../model/partition.js";
import type { Handle } from "../../model/task.js";
import { checkHost, type Host } from "../host.js";
import { roundsTask } from "../running-task.js";
import { withDefaults } from "./process-options.js";
import {
  type Emission,
  type Home,
  isAtHome,
  type KnownProcesses,
  type ProjectorPolicy,
  step,
} from "./process-states.js";
import {
  type Heartbeat,
  heartbeatSchema,
  heartbeatTopic,
  type ProcessState,
  processIdOf,
  processStateSchema,
  processStateTopic,
} from "./process-topics.js";

/** Of the worked example: when a silent process counts as stale, and how often that is looked for. */
export interface ProcessProjectorOptions extends Partial<ProjectorPolicy> {
  /** How often silence is looked for. Default: a tenth of `staleAfterMs`. */
  readonly lookMs?: number;
}

export interface ProcessProjectorStats {
  readonly [name: string]: number;
  /** Processes known now, and how many of them are stale. */
  readonly processes: number;
  readonly stale: number;
  readonly heartbeats: number;
  /** Events on `process.state` since the start. */
  readonly emitted: number;
  /** Heartbeats that said nothing new. */
  readonly quiet: number;
}

/** The consumer group it works as: several projectors on one store share the heartbeats. */
const GROUP = "process-projector";

const DEFAULTS = {
  staleAfterMs: 15_000,
  forgetAfterMs: 30 * 60_000,
  refreshMs: 10_000,
  cpuChangePct: 2,
  memoryChangePct: 2,
};

/**
 * Keeps `process.state` up to date with the heartbeats: `alive` while they come, `stale` after 15 s without one.
 *
 * @example
 * const source = startHeartbeatSource(bus, { everyMs: 2_000 });
 * const projector = await startProcessProjector(bus);
 * await bus.subscribe("process.state", "printer", (event) => console.log(event.key, event.payload));
 */
export async function startProcessProjector(
  host: Host,
  options: ProcessProjectorOptions = {},
): Promise<Handle<ProcessProjectorStats>> {
  checkHost(host);
  const lookMs = (options.staleAfterMs ?? DEFAULTS.staleAfterMs) / 10;
  const policy = withDefaults("startProcessProjector", options, { ...DEFAULTS, lookMs });
  const { partitions } = await host.defineTopic(heartbeatTopic);
  await host.defineTopic(processStateTopic);
  const projector = new ProcessProjector(host, policy, partitions);
  const unsubscribe = await host.subscribe(heartbeatTopic, GROUP, projector.handle, { from: "earliest" });
  const { clock, tasks: board } = host;
  const looking = roundsTask(
    { kind: GROUP, name: GROUP, clock, board, stats: projector.stats },
    { everyMs: policy.lookMs, round: projector.look },
  );
  return {
    name: GROUP,
    stats: projector.stats,
    stop: async () => {
      await unsubscribe();
      await looking.stop();
    },
  };
}

class ProcessProjector {
  readonly #host: Host;
  readonly #policy: ProjectorPolicy;
  readonly #partitions: number;
  readonly #known: KnownProcesses = new Map();
  /** Homes whose processes were all recalled: epoch by partition. */
  readonly #recalled = new Map<number, number>();
  #heartbeats = 0;
  #emitted = 0;
  #quiet = 0;

  constructor(host: Host, policy: ProjectorPolicy, partitions: number) {
    this.#host = host;
    this.#policy = policy;
    this.#partitions = partitions;
  }

  readonly stats = (): ProcessProjectorStats => {
    let stale = 0;
    for (const { told } of this.#known.values()) if (told?.status === "stale") stale++;
    return {
      processes: this.#known.size,
      stale,
      heartbeats: this.#heartbeats,
      emitted: this.#emitted,
      quiet: this.#quiet,
    };
  };

  readonly handle = async (event: EventRecord<Heartbeat>, ctx: DeliveryContext): Promise<void> => {
    const heartbeat = heartbeatOf(event.payload);
    const processId = processIdOf(heartbeat);
    const home = ctx.fence;
    if (!isAtHome(this.#known, processId, home)) await this.#recallOne(processId, home);
    const nowMs = this.#host.clock.steady();
    const { id, ts } = event;
    const [emission] = step(
      this.#known,
      { type: "heartbeat", id, ts, heartbeat, repeated: ctx.attempt > 1, home, nowMs },
      this.#policy,
    );
    this.#heartbeats++;
    if (emission === undefined) this.#quiet++;
    else await this.#say(emission, () => ctx.emit(processStateTopic, emission.state, { key: processId }));
  };

  /** One look: recalls what came home since the last one, then says who went silent. */
  readonly look = async (signal: AbortSignal): Promise<false> => {
    await this.#recallHomes(this.#host.owned(heartbeatTopic.name, GROUP));
    // Asked again after the wait: a partition may have gone meanwhile.
    const homes = this.#host.owned(heartbeatTopic.name, GROUP);
    const emissions = step(
      this.#known,
      { type: "looked", homes, nowMs: this.#host.clock.steady() },
      this.#policy,
    );
    for (const emission of emissions) {
      if (signal.aborted) this.#unsay(emission);
      else await this.#sayOfSilence(emission);
    }
    return false;
  };

  async #sayOfSilence(emission: Emission): Promise<void> {
    const { processId, heartbeatId, because, state } = emission;
    await this.#say(emission, () =>
      this.#host.publish(processStateTopic, state, {
        id: derivedId(GROUP, heartbeatId, because),
        key: processId,
        caused_by: [heartbeatId],
      }),
    );
    if (because === "forgotten")
      step(this.#known, { type: "forgotten", processId, heartbeatId }, this.#policy);
  }

  async #say(emission: Emission, publish: () => Promise<unknown>): Promise<void> {
    try {
      await publish();
      this.#emitted++;
    } catch (error) {
      this.#unsay(emission);
      throw error;
    }
  }

  #unsay({ processId }: Emission): void {
    step(this.#known, { type: "unsaid", processId }, this.#policy);
  }

  async #recallOne(processId: string, home: Home): Promise<void> {
    const newest = await this.#host.store.log.latestByKey(processStateTopic.name, [processId]);
    const event = newest.get(processId);
    if (event !== undefined) this.#recall(event.record, home);
  }

  /** Reads the topic once for all partitions that are new here. */
  async #recallHomes(homes: readonly Home[]): Promise<void> {
    const fresh = new Map(
      homes
        .filter(({ partition, epoch }) => this.#recalled.get(partition) !== epoch)
        .map((home) => [home.partition, home]),
    );
    if (fresh.size === 0) return;
    const newest = new Map<string, EventRecord>();
    for await (const event of this.#host.read(processStateTopic)) {
      if (event.key === undefined || !fresh.has(jumpHash(event.key, this.#partitions))) continue;
      if (event.payload === null) newest.delete(event.key);
      else newest.set(event.key, event);
    }
    for (const [key, event] of newest) {
      this.#recall(event, fresh.get(jumpHash(key, this.#partitions)) as Home);
    }
    for (const { partition, epoch } of fresh.values()) this.#recalled.set(partition, epoch);
  }

  #recall(event: EventRecord, home: Home): void {
    const state = stateOf(event.payload);
    if (state === undefined) return;
    const heartbeatId = event.caused_by?.[0] ?? event.id;
    const nowMs = this.#host.clock.steady();
    step(this.#known, { type: "recalled", state, heartbeatId, home, nowMs }, this.#policy);
  }
}

function heartbeatOf(payload: unknown): Heartbeat {
  const { data, error } = heartbeatSchema.safeParse(payload);
  if (data !== undefined) return data;
  const issue = error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? "payload" : issue.path.join(".");
  throw new Fatal(`this is no heartbeat: ${where}: ${issue?.message ?? "invalid"}`);
}

/** Undefined for tombstones and for what somebody else put there. */
function stateOf(payload: unknown): ProcessState | undefined {
  return processStateSchema.safeParse(payload).data;
}
