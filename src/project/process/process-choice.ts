/**
 * Which processes send heartbeats: those that weigh most, in cpu and memory, up to a limit. One that was chosen before
 * stays unless a newcomer weighs much more: a process that came and went with every round would look stale in between.
 */

/** One process at one moment. */
export interface ProcessSample {
  readonly pid: number;
  readonly name: string;
  readonly cpu_pct: number;
  readonly mem_mb: number;
}

/** How much lighter than a newcomer an old choice may be and still stay. */
const LOYALTY = 2;

export function chooseProcesses<T extends ProcessSample>(
  samples: readonly T[],
  chosenBefore: ReadonlySet<number>,
  limit: number,
): T[] {
  if (samples.length <= limit) return [...samples];
  const totalMb = samples.reduce((sum, sample) => sum + sample.mem_mb, 0) || 1;
  const weighed = samples.map((sample) => {
    const weight = 1 + sample.cpu_pct + (100 * sample.mem_mb) / totalMb;
    return { sample, weight: chosenBefore.has(sample.pid) ? weight * LOYALTY : weight };
  });
  weighed.sort((a, b) => b.weight - a.weight || a.sample.pid - b.sample.pid);
  return weighed.slice(0, limit).map(({ sample }) => sample);
}

/** What is to be said for the last time of those that have ended, or go on under another name. */
export function lastOf(before: readonly ProcessSample[], running: readonly ProcessSample[]): ProcessSample[] {
  const names = new Map(running.map(({ pid, name }) => [pid, name]));
  return before
    .filter(({ pid, name }) => names.get(pid) !== name)
    .map(({ pid, name }) => ({ pid, name, cpu_pct: 0, mem_mb: 0 }));
}

/**
 * Which of the running processes are looked at in this round: all if there are few; else those of the last choice and
 * as many others as fit, in turns, so that every process is looked at now and then. `turn` counts rounds.
 */
export function pickPids(
  pids: readonly number[],
  chosenBefore: ReadonlySet<number>,
  turn: number,
  limit: number,
): number[] {
  if (pids.length <= limit) return [...pids];
  const kept = pids.filter((pid) => chosenBefore.has(pid)).slice(0, limit);
  const others = pids.filter((pid) => !chosenBefore.has(pid));
  const room = limit - kept.length;
  const start = (turn * room) % others.length;
  return [
    ...kept,
    ...others.slice(start, start + room),
    ...others.slice(0, Math.max(0, start + room - others.length)),
  ];
}

const MEGABYTE = 1_048_576;

export function megabytes(bytes: number): number {
  return Math.round((bytes / MEGABYTE) * 10) / 10;
}

/** One processor fully used is 100. */
export function percent(busySeconds: number, seconds: number): number {
  return seconds <= 0 ? 0 : Math.max(0, Math.round((1_000 * busySeconds) / seconds) / 10);
}
