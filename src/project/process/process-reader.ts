/**
 * Reads the processes of this machine: from /proc on Linux, from `ps` elsewhere.
 *
 * /proc lives in memory, so its files are read at once, a few processes at a time, and the event loop gets its turn in
 * between: much cheaper than a thread's round trip for each of hundreds of tiny files.
 */
import { execFile } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { BusError } from "../../model/errors.js";
import { nextTurn } from "../../model/next-turn.js";
import { megabytes, type ProcessSample, percent, pickPids } from "./process-choice.js";
import {
  type MachineUnits,
  type ProcStat,
  parseAuxv,
  parseProcStat,
  parseProcStatm,
  parsePs,
  parseUptime,
  USUAL_UNITS,
} from "./process-files.js";

export interface ProcessReader {
  /** The processes that run now; those of `chosenBefore` are among them if they still run. */
  read(chosenBefore: ReadonlySet<number>): Promise<ProcessSample[]>;
}

export function processReader(): ProcessReader {
  if (process.platform === "linux") return new ProcReader();
  if (process.platform === "win32") {
    throw new BusError("UNSUPPORTED", "the heartbeat source needs /proc or ps, and Windows has neither");
  }
  return { read: readPs };
}

/** Processes looked at in one round, however many there are. */
const MAX_LOOKED_AT = 2_000;
/** Processes read before others get a turn: well under a millisecond. */
const AT_A_TIME = 25;

interface Look {
  readonly stat: ProcStat;
  /** Since the machine started. */
  readonly atSeconds: number;
}

export class ProcReader implements ProcessReader {
  readonly #root: string;
  readonly #units: MachineUnits;
  readonly #buffer = Buffer.allocUnsafe(4_096);
  /** The last look at each process: what it used since then is its share. */
  #before = new Map<number, Look>();
  #turn = 0;

  constructor(root = "/proc") {
    this.#root = root;
    this.#units = readUnits(`${root}/self/auxv`);
  }

  async read(chosenBefore: ReadonlySet<number>): Promise<ProcessSample[]> {
    const running = readdirSync(this.#root)
      .map(Number)
      .filter((pid) => pid > 0);
    const pids = pickPids(running, chosenBefore, this.#turn++, MAX_LOOKED_AT);
    const seen = new Map<number, Look>();
    const samples: ProcessSample[] = [];
    for (let start = 0; start < pids.length; start += AT_A_TIME) {
      if (start > 0) await nextTurn();
      const atSeconds = this.#parse("uptime", parseUptime) ?? 0;
      for (const pid of pids.slice(start, start + AT_A_TIME)) {
        const sample = this.#readOne(pid, atSeconds, seen);
        if (sample !== undefined) samples.push(sample);
      }
    }
    this.#remember(seen, running);
    return samples;
  }

  /** Undefined for threads of the kernel, which have no memory, and for what ended meanwhile. */
  #readOne(pid: number, atSeconds: number, seen: Map<number, Look>): ProcessSample | undefined {
    const pages = this.#parse(`${pid}/statm`, parseProcStatm);
    if (pages === undefined || pages === 0) return undefined;
    const stat = this.#parse(`${pid}/stat`, parseProcStat);
    if (stat === undefined) return undefined;
    seen.set(pid, { stat, atSeconds });
    const mem_mb = megabytes(pages * this.#units.pageBytes);
    return { pid, name: stat.name, cpu_pct: this.#cpuPct(stat, atSeconds), mem_mb };
  }

  /** Looks of this round, and earlier ones of processes that were not looked at and still run. */
  #remember(seen: Map<number, Look>, running: readonly number[]): void {
    for (const pid of running) {
      const look = this.#before.get(pid);
      if (look !== undefined && !seen.has(pid)) seen.set(pid, look);
    }
    this.#before = seen;
  }

  /** Since the last look; at the first one, since the process started, as `ps` has it. */
  #cpuPct(stat: ProcStat, atSeconds: number): number {
    const { ticksPerSecond } = this.#units;
    const before = this.#before.get(stat.pid);
    if (before === undefined || before.stat.startTicks !== stat.startTicks) {
      return percent(stat.busyTicks / ticksPerSecond, atSeconds - stat.startTicks / ticksPerSecond);
    }
    return percent((stat.busyTicks - before.stat.busyTicks) / ticksPerSecond, atSeconds - before.atSeconds);
  }

  #parse<T>(path: string, parse: (text: string) => T | undefined): T | undefined {
    let file: number;
    try {
      file = openSync(`${this.#root}/${path}`, "r");
    } catch {
      return undefined;
    }
    try {
      return parse(this.#buffer.toString("utf8", 0, readSync(file, this.#buffer)));
    } catch {
      // A process that ends while it is looked at makes the read fail.
      return undefined;
    } finally {
      closeSync(file);
    }
  }
}

function readUnits(path: string): MachineUnits {
  try {
    return parseAuxv(readFileSync(path));
  } catch {
    return USUAL_UNITS;
  }
}

/** What `ps` counts as cpu differs between systems: on some it is the share since the process started. */
export async function readPs(): Promise<ProcessSample[]> {
  const text = await new Promise<string>((resolve, reject) => {
    const command = ["-A", "-o", "pid=,pcpu=,rss=,comm="];
    execFile("ps", command, { timeout: 10_000, maxBuffer: 16_777_216 }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(new BusError("UNSUPPORTED", `ps cannot be run: ${error.message}`, { cause: error }));
    });
  });
  return parsePs(text)
    .filter(({ residentKb }) => residentKb > 0)
    .map(({ pid, name, cpuPct, residentKb }) => ({
      pid,
      name,
      cpu_pct: cpuPct,
      mem_mb: megabytes(residentKb * 1_024),
    }));
}
