/** What Linux writes in /proc, and what `ps` prints elsewhere, as numbers and names. Pure; reading is elsewhere. */

/** From /proc/<pid>/stat. */
export interface ProcStat {
  readonly pid: number;
  readonly name: string;
  /** Time on a processor since its start, in clock ticks. */
  readonly busyTicks: number;
  /** When it started, in clock ticks since the machine did: tells two users of one pid apart. */
  readonly startTicks: number;
}

/** Undefined if the text is not what it should be. */
export function parseProcStat(text: string): ProcStat | undefined {
  // The name stands in parentheses and may itself hold spaces and parentheses; nothing after it does.
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  if (open < 1 || close < open) return undefined;
  const pid = Number(text.slice(0, open));
  // Fields are counted from 1 in proc(5); the one after the name is the third.
  const field = text.slice(close + 2).split(" ");
  const busyTicks = Number(field[14 - 3]) + Number(field[15 - 3]);
  const startTicks = Number(field[22 - 3]);
  if (!(Number.isInteger(pid) && Number.isFinite(busyTicks) && Number.isFinite(startTicks))) return undefined;
  return { pid, name: text.slice(open + 1, close), busyTicks, startTicks };
}

/** Resident pages, from /proc/<pid>/statm. 0 for a thread of the kernel. */
export function parseProcStatm(text: string): number | undefined {
  const pages = Number(text.split(" ", 2)[1]);
  return Number.isInteger(pages) ? pages : undefined;
}

/** Seconds since the machine started, from /proc/uptime. */
export function parseUptime(text: string): number | undefined {
  const seconds = Number.parseFloat(text);
  return Number.isFinite(seconds) ? seconds : undefined;
}

/** Units that differ between machines. */
export interface MachineUnits {
  readonly pageBytes: number;
  readonly ticksPerSecond: number;
}

export const USUAL_UNITS: MachineUnits = { pageBytes: 4_096, ticksPerSecond: 100 };
const AT_PAGESZ = 6;
const AT_CLKTCK = 17;

/** From /proc/self/auxv, on a 64-bit machine: pairs of (type, value) in the machine's byte order. */
export function parseAuxv(bytes: Uint8Array): MachineUnits {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let { pageBytes, ticksPerSecond } = USUAL_UNITS;
  for (let at = 0; at + 16 <= bytes.byteLength; at += 16) {
    const type = Number(view.getBigUint64(at, true));
    const value = Number(view.getBigUint64(at + 8, true));
    if (type === AT_PAGESZ && value > 0) pageBytes = value;
    if (type === AT_CLKTCK && value > 0) ticksPerSecond = value;
  }
  return { pageBytes, ticksPerSecond };
}

/** One line of `ps -A -o pid=,pcpu=,rss=,comm=`. */
export interface PsLine {
  readonly pid: number;
  readonly name: string;
  readonly cpuPct: number;
  readonly residentKb: number;
}

/** Lines that are something else are passed over. */
export function parsePs(text: string): PsLine[] {
  return text.split("\n").flatMap((line) => {
    // Some languages write a comma in numbers.
    const found = /^\s*(\d+)\s+(\d+(?:[.,]\d+)?)\s+(\d+)\s+(\S.*?)\s*$/.exec(line);
    if (found === null) return [];
    const [, pid = "", cpu = "", resident = "", command = ""] = found;
    return [
      {
        pid: Number(pid),
        // Some systems give the whole path.
        name: command.startsWith("/") ? command.slice(command.lastIndexOf("/") + 1) : command,
        cpuPct: Number(cpu.replace(",", ".")),
        residentKb: Number(resident),
      },
    ];
  });
}
