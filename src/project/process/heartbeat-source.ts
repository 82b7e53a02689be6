/**
 * The heartbeat source: every few seconds, one `heartbeat.received` for each of the heaviest processes of this machine.
 * A round that fails is tried again with backoff; rounds never overlap.
 */
import { hostname } from "node:os";
import type { Handle } from "../../model/task.js";
import { checkHost, type Host } from "../host.js";
import { roundsTask } from "../running-task.js";
import { chooseProcesses } from "./process-choice.js";
import { withDefaults } from "./process-options.js";
import { processReader } from "./process-reader.js";
import { type Heartbeat, heartbeatTopic, processIdOf } from "./process-topics.js";

export interface HeartbeatSourceOptions {
  /** From the end of one round to the next. Default 2,000. */
  readonly everyMs?: number;
  /** Processes that send heartbeats, at most. Default 40. */
  readonly limit?: number;
}

export interface HeartbeatSourceStats {
  readonly [name: string]: number;
  readonly rounds: number;
  readonly published: number;
  /** Processes that sent a heartbeat in the last round. */
  readonly processes: number;
}

const NAME = "heartbeat-source";

/**
 * Publishes heartbeats of this machine's processes until it is stopped.
 *
 * @example
 * const source = startHeartbeatSource(bus, { everyMs: 2_000, limit: 40 });
 */
export function startHeartbeatSource(
  host: Host,
  options: HeartbeatSourceOptions = {},
): Handle<HeartbeatSourceStats> {
  checkHost(host);
  const { everyMs, limit } = withDefaults("startHeartbeatSource", options, { everyMs: 2_000, limit: 40 });
  const reader = processReader();
  const machine = hostname();
  const stats = { rounds: 0, published: 0, processes: 0 };
  let chosen: ReadonlySet<number> = new Set();
  const round = async (): Promise<false> => {
    const processes = chooseProcesses(await reader.read(chosen), chosen, limit);
    chosen = new Set(processes.map(({ pid }) => pid));
    const heartbeats = processes.map((sample): Heartbeat => ({ ...sample, host: machine }));
    await host.publishMany(
      heartbeatTopic,
      heartbeats.map((payload) => ({ payload, key: processIdOf(payload) })),
    );
    stats.rounds++;
    stats.published += heartbeats.length;
    stats.processes = heartbeats.length;
    return false;
  };
  const { clock, tasks: board } = host;
  return roundsTask(
    { kind: NAME, name: NAME, clock, board, stats: () => ({ ...stats }) },
    { everyMs, round },
  );
}
