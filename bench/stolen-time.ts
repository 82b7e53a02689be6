/**
 * What a virtual machine's host takes away: time in which a processor had work and was not run, as far as the machine is told.
 */
import { readFileSync } from "node:fs";

/** Begins to count; the answer tells the share so far, in percent of all processors' time, or nothing where nobody knows. */
export function watchStolenTime(): () => number | undefined {
  const before = ticks();
  return () => {
    const now = ticks();
    if (before === undefined || now === undefined || now.all === before.all) return undefined;
    return (100 * (now.stolen - before.stolen)) / (now.all - before.all);
  };
}

interface Ticks {
  readonly all: number;
  readonly stolen: number;
}

/** user, nice, system, idle, iowait, irq, softirq, steal: what follows is counted in these already. */
const COUNTED = 8;
const STEAL = 7;

function ticks(): Ticks | undefined {
  if (process.platform !== "linux") return undefined;
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  const counts = line
    .split(/\s+/)
    .slice(1, 1 + COUNTED)
    .map(Number);
  return { all: counts.reduce((sum, count) => sum + count, 0), stolen: counts[STEAL] ?? 0 };
}
