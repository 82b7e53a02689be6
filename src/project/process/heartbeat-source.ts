/**
 * The heartbeat source: every few seconds, one `heartbeat.received` for each of the heaviest processes of this machine.
 * One that has ended gets a last one, of a process that uses nothing: its figures are not to count until it is stale.
 * A round that fails is tried again with backoff; rounds never overlap.
 */
import { hostname } from "node:os";
import type { Handle } from "../../model/task.js";
import { checkHost, type Host } from "../host.js";
import { roundsTask } from "../running-task.js";
import { chooseProcesses, lastOf, type ProcessSample } from "./process-choice.js";
import { withDefaults } from "./process-options.js";
import { processReader } from "./process-reader.js";
import { type Heartbeat, heartbeatTopic, processIdOf } from "./process-topics.js";

/** How often, and of how many processes, the worked example sends heartbeats. */
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
  let before: readonly ProcessSample[] = [];
  const round = async (): Promise<false> => {
    const chosen = new Set(before.map(({ pid }) => pid));
    const running = await reader.read(chosen);
    const processes = chooseProcesses(running, chosen, limit);
    const heartbeats = [...processes, ...lastOf(before, running)].map(
      (sample): Heartbeat => ({ ...sample, host: machine }),
    );
    await host.publishMany(
      heartbeatTopic,
      heartbeats.map((payload) => ({ payload, key: processIdOf(payload) })),
    );
    before = processes;
    stats.rounds++;
    stats.published += heartbeats.length;
    stats.processes = processes.length;
    return false;
  };
  const { clock, tasks: board } = host;
  return roundsTask(
    { kind: NAME, name: NAME, clock, board, stats: () => ({ ...stats }) },
    { everyMs, round },
  );
}
