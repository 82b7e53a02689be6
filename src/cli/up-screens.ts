/** What `promethean up` shows while it runs: a status line, a table, or lines for a log. */
import { pause, systemClock } from "../model/clock.js";
import { colors } from "./colors.js";
import { Screen } from "./screen.js";
import { plainLine, statusLine, summaryLine, tableFrame } from "./table-frame.js";
import type { WatchedMachine } from "./watched-machine.js";

const FIRST_LOOK_MS = 250;
const REDRAW_MS = 1_000;
const HURRY_MS = 5_000;
const PLAIN_MS = 60_000;

const { stdout } = process;

/** One line at the bottom, kept up to date; what was printed before stays. */
export async function showStatus(machine: WatchedMachine, signal: AbortSignal): Promise<void> {
  const clear = (): boolean => stdout.write("\r\x1b[K");
  for (let waitMs = FIRST_LOOK_MS; !signal.aborted; waitMs = machine.rows.size > 0 ? REDRAW_MS : waitMs) {
    await machine.refresh();
    stdout.write(`\r${colors.dim(statusLine(machine.rows.sorted(), machine.figures, stdout.columns))}\x1b[K`);
    await pause(systemClock, waitMs, signal);
  }
  clear();
}

export async function showTable(machine: WatchedMachine, signal: AbortSignal, link: string): Promise<void> {
  const screen = new Screen(stdout);
  const draw = (): void => {
    const { columns, lines } = screen.size;
    const size = { columns, lines: lines - 1 };
    screen.draw([link, ...tableFrame(machine.rows.sorted(), machine.figures, size, Date.now(), colors)]);
  };
  const resume = (): void => {
    screen.enter();
    draw();
  };
  const suspend = (): void => {
    screen.leave();
    process.kill(process.pid, "SIGSTOP");
  };
  const leave = (): void => screen.leave();
  process.on("exit", leave).on("SIGTSTP", suspend).on("SIGCONT", resume);
  stdout.on("resize", draw);
  try {
    screen.enter();
    for (let waitMs = FIRST_LOOK_MS; !signal.aborted; waitMs = machine.rows.size > 0 ? REDRAW_MS : waitMs) {
      await machine.refresh();
      draw();
      await pause(systemClock, waitMs, signal);
    }
  } finally {
    leave();
    process.off("exit", leave).off("SIGTSTP", suspend).off("SIGCONT", resume);
    stdout.off("resize", draw);
  }
}

/** The first as soon as there is something to say, of all that is under way at the start, then one a minute. */
export async function printLines(machine: WatchedMachine, signal: AbortSignal): Promise<void> {
  const hurryUntilMs = systemClock.steady() + HURRY_MS;
  while (!signal.aborted) {
    await machine.refresh();
    const isBeginning = machine.rows.size === 0 || machine.figures.lag > 0;
    const hurry = isBeginning && systemClock.steady() < hurryUntilMs;
    if (!hurry) stdout.write(`${plainLine(machine.rows.sorted(), machine.figures, Date.now())}\n`);
    await pause(systemClock, hurry ? FIRST_LOOK_MS : PLAIN_MS, signal);
  }
}

export function lastWord(machine: WatchedMachine): void {
  stdout.write(`${summaryLine(machine.rows.sorted(), machine.figures)}\n`);
}
