#!/usr/bin/env node
/** The `promethean` command: finds the command that was asked for and loads that one alone. Help needs little, and comes soon. */
import { Command, CommanderError } from "commander";
import { COMMANDS, type CommandEntry, HEADINGS } from "./command-table.js";
import { EXIT } from "./exit-codes.js";
import { addClosingWords, newCommand } from "./own-command.js";

const HELP_OF_A_COMMAND = "show the help of a command";

async function programFor(name: string | undefined): Promise<Command> {
  const program = newCommand("promethean", "A durable event bus with projections.", [
    "promethean up",
    `promethean publish orders.placed '{"order":7}' --key customer-42`,
    "promethean tail orders.placed --from earliest",
    "promethean lag --watch",
  ]);
  program.version(await versionIfAsked(), "-V, --version", "show the version");
  for (const [heading, commands] of Object.entries(HEADINGS)) {
    program.commandsGroup(heading);
    for (const command of commands) program.addCommand(await commandNamed(command, command === name));
  }
  program.helpCommand("help [command]", HELP_OF_A_COMMAND);
  addClosingWords(program, [
    "Where commands go: --url <hub> or --store <file | mongodb://…>; else PROMETHEAN_URL, PROMETHEAN_STORE, the context in use, or what runs in PROMETHEAN_DATA (default .promethean).",
    "Exit codes: 0 ok, 1 failure, 2 wrong use, 3 not found, 4 no right, 5 not valid, 130 interrupted.",
  ]);
  // "schema check --version 2" is not about the version of this program.
  program.enablePositionalOptions();
  throwInsteadOfExit(program);
  return program;
}

/** Only the one that is asked for is loaded; of the others its line in the list is enough. */
async function commandNamed(name: string, isAsked: boolean): Promise<Command> {
  const { summary, load } = COMMANDS[name] as CommandEntry;
  const command = isAsked ? await load() : new Command(name).description(summary);
  if (command.commands.length > 0) command.helpCommand("help [command]", HELP_OF_A_COMMAND);
  return command;
}

async function versionIfAsked(): Promise<string> {
  const isAsked = process.argv.some((argument) => argument === "--version" || argument.startsWith("-V"));
  return isAsked ? (await import("./version.js")).packageVersion() : "";
}

const isJsonAsked = process.argv.includes("--json");

/** So that wrong use has one exit code and one form, and nothing ends before its output is out. */
function throwInsteadOfExit(command: Command): void {
  command.exitOverride().showHelpAfterError("(--help says how it is used)");
  if (isJsonAsked) command.configureOutput({ writeErr: () => undefined });
  for (const sub of command.commands) throwInsteadOfExit(sub);
}

async function run(argv: readonly string[]): Promise<void> {
  const [first, second] = argv.slice(2);
  const name = first === "help" ? second : first;
  const program = await programFor(name);
  if (first === undefined) program.outputHelp();
  else await program.parseAsync(asksForSub(argv, program) as string[]);
}

/** `help dlq redrive` as `dlq help redrive`: by itself, Commander's `help` goes no further than to `dlq`. */
function asksForSub(argv: readonly string[], program: Command): readonly string[] {
  const [first, name, ...rest] = argv.slice(2);
  const asked = program.commands.find((command) => command.name() === name);
  const isMeant = first === "help" && rest.length > 0 && asked !== undefined && asked.commands.length > 0;
  return isMeant ? [...argv.slice(0, 2), asked.name(), first, ...rest] : argv;
}

async function fail(error: unknown): Promise<void> {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    // In words, Commander has said what there is to say.
    if (error.exitCode === 0 || !isJsonAsked) return;
  }
  const { exitCodeOf, failureText, usageError } = await import("./exit.js");
  const told =
    error instanceof CommanderError
      ? usageError(error.message.replace(/^error: /, ""), "--help says how it is used")
      : error;
  process.stderr.write(`${failureText(told, { json: isJsonAsked })}\n`);
  process.exitCode = exitCodeOf(told);
}

let isOutputLost = false;

/** `promethean export t | head` is no failure of the export; a full disk is. */
async function endWithoutOutput(error: NodeJS.ErrnoException): Promise<void> {
  if (error.code === "EPIPE") process.exit(EXIT.ok);
  if (isOutputLost) return;
  isOutputLost = true;
  const { failure } = await import("./exit.js");
  await fail(failure("STORE_UNAVAILABLE", `the output cannot be written (${error.code})`, { cause: error }));
  process.exit();
}

process.stdout.on("error", (error) => void endWithoutOutput(error));
process.stderr.on("error", () => undefined);
process.on("uncaughtException", (error) => void fail(error).finally(() => process.exit()));
try {
  await run(process.argv);
} catch (error) {
  await fail(error);
}
// Everything was closed by its owner; a connection that is kept alive for another request must not hold up the shell.
process.stdout.write("", (error) => {
  if (error) void endWithoutOutput(error);
  else process.exit();
});
