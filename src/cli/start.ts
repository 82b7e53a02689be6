/**
 * `npm start`: the worked example. In a terminal a live table of this machine's processes, elsewhere a line every few
 * seconds; both until Ctrl-C or SIGTERM.
 */
import { join } from "node:path";
import { Command, CommanderError } from "commander";
import pc from "picocolors";
import { pause, systemClock } from "../model/clock.js";
import { describeThrown } from "../model/errors.js";
import type { Store } from "../ports/store.js";
import { embeddedStore } from "../stores/embedded/index.js";
import { Screen } from "./screen.js";
import { plainLine, summaryLine, tableFrame } from "./table-frame.js";
import { WatchedMachine } from "./watched-machine.js";

const FIRST_LOOK_MS = 250;
const REDRAW_MS = 1_000;
const PLAIN_MS = 5_000;
const INTERRUPTED = 130;

const { env, stdout, stderr } = process;

function parseOptions(): { plain: boolean } {
  const program = new Command("npm start --")
    .description(
      "Watches the processes of this machine: heartbeats become events, events become their state.",
    )
    .option(
      "--plain",
      "a line every few seconds instead of a table, as when the output is no terminal",
      false,
    )
    .addHelpText(
      "after",
      `
Environment:
  PROMETHEAN_DATA  folder for the events (default .promethean)
  PROMETHEAN_PORT  accepted, and unused until the hub is part of this program
  NO_COLOR         no colours

Examples:
  npm start
  PROMETHEAN_DATA=/var/lib/promethean npm start -- --plain

Ctrl-C ends it.`,
    )
    .exitOverride();
  return program.parse().opts();
}

/** The one place that says where events are kept. */
function chooseStore(): Store {
  return embeddedStore({ path: join(env.PROMETHEAN_DATA || ".promethean", "bus.db") });
}

async function showTable(machine: WatchedMachine, signal: AbortSignal): Promise<void> {
  const screen = new Screen(stdout);
  const draw = (): void =>
    screen.draw(tableFrame(machine.rows.sorted(), machine.figures, screen.size, Date.now(), pc));
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

async function printLines(machine: WatchedMachine, signal: AbortSignal): Promise<void> {
  const hurryUntilMs = systemClock.steady() + PLAIN_MS;
  while (!signal.aborted) {
    await machine.refresh();
    const hurry = machine.rows.size === 0 && systemClock.steady() < hurryUntilMs;
    if (!hurry) stdout.write(`${plainLine(machine.rows.sorted(), machine.figures, Date.now())}\n`);
    await pause(systemClock, hurry ? FIRST_LOOK_MS : PLAIN_MS, signal);
  }
}

/** The first signal ends things in order, the second at once. A reader that is gone counts as a signal. */
function interruption(): { readonly signal: AbortSignal; readonly exitCode: number } {
  const over = new AbortController();
  const ending = { signal: over.signal, exitCode: 0 };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (over.signal.aborted) process.exit(INTERRUPTED);
      if (name === "SIGINT") ending.exitCode = INTERRUPTED;
      over.abort();
    });
  }
  stdout.on("error", () => over.abort());
  return ending;
}

async function run(): Promise<number> {
  const { plain } = parseOptions();
  const ending = interruption();
  const machine = await WatchedMachine.start(chooseStore());
  try {
    const live = stdout.isTTY && !plain && env.TERM !== "dumb";
    await (live ? showTable : printLines)(machine, ending.signal);
  } finally {
    await machine.stop();
  }
  stdout.write(`${summaryLine(machine.rows.sorted(), machine.figures)}\n`);
  return ending.exitCode;
}

function fail(error: unknown): void {
  if (error instanceof CommanderError) {
    // Commander has said what there is to say.
    process.exitCode = error.exitCode === 0 ? 0 : 2;
    return;
  }
  stderr.write(`promethean: ${describeThrown(error)}\n`);
  process.exitCode = 1;
}

process.on("uncaughtException", (error) => {
  fail(error);
  process.exit();
});
try {
  process.exitCode = await run();
} catch (error) {
  fail(error);
}
