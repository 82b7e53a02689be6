/**
 * The process projector's decisions: what to say on `process.state`, and when to say nothing. No I/O, no clock.
 *
 *   unknown --heartbeat--> alive --silence of staleAfterMs--> stale --silence of forgetAfterMs--> unknown
 *                            ^------------heartbeat------------'
 *
 * - Something is said when the status changes, when cpu or memory changed noticeably, and every `refreshMs`.
 * - Silence is measured on this machine's steady clock from the moment a heartbeat was handled, so a publisher
 *   whose clock is wrong is not stale. What was recalled after a restart counts as heard at that moment.
 * - A process has a home: the partition its heartbeats come through, under the epoch of its lease. Only those at
 *   home here are judged; whoever owns the others hears them.
 * - What is said depends on one heartbeat alone, so saying it twice is saying the same (P9).
 *
 * Effects live in process-projector.ts.
 */
import { type Heartbeat, type ProcessState, processIdOf } from "./process-topics.js";

export interface ProjectorPolicy {
  readonly staleAfterMs: number;
  /** A stale process is forgotten after this much silence. */
  readonly forgetAfterMs: number;
  /** An alive one is told again after this long, changed or not. */
  readonly refreshMs: number;
  /** Percentage points of cpu that are worth telling. */
  readonly cpuChangePct: number;
  /** Share of memory, in percent, that is worth telling; and never less than a megabyte. */
  readonly memoryChangePct: number;
}

/** A partition of the heartbeat topic in the hands of one owner. */
export interface Home {
  readonly partition: number;
  readonly epoch: number;
}

interface KnownProcess {
  readonly home: Home;
  /** The newest heartbeat, as a state. */
  readonly seen: ProcessState;
  readonly heartbeatId: string;
  readonly seenAtMs: number;
  /** What the topic says; null if that is unknown, because saying it failed. */
  readonly told: ProcessState | null;
  readonly toldAtMs: number;
}

/** Every process this projector knows, by process id. */
export type KnownProcesses = Map<string, KnownProcess>;

export type ProjectorEvent =
  /** `repeated`: it may have been handled before, by this owner or an earlier one. */
  | {
      readonly type: "heartbeat";
      readonly id: string;
      readonly ts: number;
      readonly heartbeat: Heartbeat;
      readonly repeated: boolean;
      readonly home: Home;
      readonly nowMs: number;
    }
  /** The topic says this, because of that heartbeat. */
  | {
      readonly type: "recalled";
      readonly state: ProcessState;
      readonly heartbeatId: string;
      readonly home: Home;
      readonly nowMs: number;
    }
  /** Time passed; these partitions are owned now. */
  | { readonly type: "looked"; readonly homes: readonly Home[]; readonly nowMs: number }
  /** What was to be said was not, or nobody knows. */
  | { readonly type: "unsaid"; readonly processId: string }
  /** It was said that the process is forgotten. */
  | { readonly type: "forgotten"; readonly processId: string; readonly heartbeatId: string };

/** To be said on `process.state`; `null` forgets the process. */
export interface Emission {
  readonly processId: string;
  readonly heartbeatId: string;
  readonly because: "heartbeat" | "silence" | "forgotten";
  readonly state: ProcessState | null;
}

/** Takes in what happened; `known` is changed as if all that is returned were said. */
export function step(known: KnownProcesses, event: ProjectorEvent, policy: ProjectorPolicy): Emission[] {
  switch (event.type) {
    case "heartbeat":
      return hear(known, event, policy);
    case "recalled":
      return recall(known, event);
    case "looked":
      return judge(known, event, policy);
    case "unsaid":
      return doubt(known, event.processId);
    case "forgotten":
      return forget(known, event);
  }
}

/** Whether what is known of the process is from this owner's time: what an earlier owner said may be newer. */
export function isAtHome(known: KnownProcesses, processId: string, home: Home): boolean {
  const at = known.get(processId)?.home;
  return at !== undefined && at.partition === home.partition && at.epoch === home.epoch;
}

function hear(
  known: KnownProcesses,
  event: Extract<ProjectorEvent, { type: "heartbeat" }>,
  policy: ProjectorPolicy,
): Emission[] {
  const { heartbeat, id, ts, home, nowMs } = event;
  const processId = processIdOf(heartbeat);
  const before = known.get(processId);
  if (before?.told && event.repeated && ts < before.seen.last_seen_ts) {
    // An earlier owner was further along: a sign of life, but old news.
    known.set(processId, { ...before, home, seenAtMs: nowMs });
    return [];
  }
  const seen: ProcessState = { processId, ...heartbeat, last_seen_ts: ts, status: "alive" };
  const process = {
    home,
    seen,
    heartbeatId: id,
    seenAtMs: nowMs,
    told: before?.told ?? null,
    toldAtMs: before?.toldAtMs ?? 0,
  };
  if (!isWorthTelling(process, policy)) {
    known.set(processId, process);
    return [];
  }
  known.set(processId, { ...process, told: seen, toldAtMs: nowMs });
  return [{ processId, heartbeatId: id, because: "heartbeat", state: seen }];
}

function isWorthTelling(
  { seen, told, seenAtMs, toldAtMs }: KnownProcess,
  { refreshMs, cpuChangePct, memoryChangePct }: ProjectorPolicy,
): boolean {
  if (told === null || told.status !== "alive") return true;
  if (seenAtMs - toldAtMs >= refreshMs) return true;
  if (Math.abs(seen.cpu_pct - told.cpu_pct) >= cpuChangePct) return true;
  return Math.abs(seen.mem_mb - told.mem_mb) >= Math.max(1, (told.mem_mb * memoryChangePct) / 100);
}

function recall(
  known: KnownProcesses,
  { state, heartbeatId, home, nowMs }: Extract<ProjectorEvent, { type: "recalled" }>,
): Emission[] {
  if (isAtHome(known, state.processId, home)) return [];
  const seen: ProcessState = { ...state, status: "alive" };
  known.set(state.processId, { home, seen, heartbeatId, seenAtMs: nowMs, told: state, toldAtMs: nowMs });
  return [];
}

function judge(
  known: KnownProcesses,
  { homes, nowMs }: Extract<ProjectorEvent, { type: "looked" }>,
  policy: ProjectorPolicy,
): Emission[] {
  const emissions: Emission[] = [];
  const epochs = new Map(homes.map(({ partition, epoch }) => [partition, epoch]));
  for (const [processId, process] of known) {
    if (epochs.get(process.home.partition) !== process.home.epoch) {
      known.delete(processId);
      continue;
    }
    const { heartbeatId, seen, told } = process;
    const silentMs = nowMs - process.seenAtMs;
    if (silentMs >= policy.staleAfterMs && told?.status !== "stale") {
      const state: ProcessState = { ...seen, status: "stale" };
      known.set(processId, { ...process, told: state, toldAtMs: nowMs });
      emissions.push({ processId, heartbeatId, because: "silence", state });
    } else if (silentMs >= policy.forgetAfterMs) {
      emissions.push({ processId, heartbeatId, because: "forgotten", state: null });
    }
  }
  return emissions;
}

/** The next heartbeat, or the next look, says it again. */
function doubt(known: KnownProcesses, processId: string): Emission[] {
  const process = known.get(processId);
  if (process !== undefined) known.set(processId, { ...process, told: null });
  return [];
}

/** Only now, so that a farewell that could not be said is said again; and not if a heartbeat came in between. */
function forget(
  known: KnownProcesses,
  { processId, heartbeatId }: Extract<ProjectorEvent, { type: "forgotten" }>,
): Emission[] {
  if (known.get(processId)?.heartbeatId === heartbeatId) known.delete(processId);
  return [];
}
