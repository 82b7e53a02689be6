/**
 * What every command is given: its output, the signal that ends it, and a connection when it asks for one. Whatever was
 * opened is closed when the command is over, however it ends.
 */
import { type Command, Option } from "commander";
import { FirstFailure } from "../model/first-failure.js";
import type { Backend } from "./backend.js";
import { codeOf, exitCodeOf, failure, failureText, usageError, withSoFar } from "./exit.js";
import { EXIT } from "./exit-codes.js";
import { listenForInterruption } from "./interruption.js";
import { Output } from "./output.js";

export interface CommonOptions {
  readonly json?: boolean;
  readonly url?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly store?: string;
  readonly context?: string;
}

/** Of commands that say what would happen, or ask before it does: see `withConsent`. */
export interface ConsentOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export class Session<O extends object = object> {
  readonly options: O & CommonOptions;
  readonly out: Output;
  readonly signal: AbortSignal;
  /** Ending on SIGTERM is what it is for. */
  servesUntilStopped = false;
  /** What became of the work, to be told if it is interrupted, or if whoever does it is lost. */
  soFar: string | undefined;
  readonly #closers: (() => Promise<void>)[] = [];

  constructor(options: O & CommonOptions, signal: AbortSignal) {
    this.options = options;
    this.out = new Output(options.json ?? false);
    this.signal = signal;
  }

  /** The hub, or the store behind a hub of this process's own. */
  async connect(): Promise<Backend> {
    const { connect } = await import("./connection.js");
    const backend = await connect(this.options, this.signal);
    this.onEnd(() => backend.close());
    return backend;
  }

  /** Closers run in reverse order. */
  onEnd(close: () => Promise<void>): void {
    this.#closers.push(close);
  }

  /** All of them, also if one fails; that is thrown in the end. */
  async end(): Promise<void> {
    const failures = new FirstFailure();
    for (const close of this.#closers.splice(0).reverse()) await failures.note(close());
    failures.throwIfAny();
  }
}

/** An action for commander: runs `work`, tells of failures in one message, sets the exit code. */
export function perform<O extends object, A extends unknown[]>(
  work: (session: Session<O>, ...args: A) => Promise<void>,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command;
    const args = given.slice(0, -2) as A;
    const interruption = listenForInterruption();
    const session = new Session<O>(command.optsWithGlobals() as O & CommonOptions, interruption.signal);
    let code: number = EXIT.ok;
    try {
      refuseEmpty(command, args);
      await work(session, ...args);
    } catch (error) {
      const { soFar } = session;
      if (!interruption.signal.aborted) code = tell(withSoFar(error, soFar), session.out.json);
      // Whoever interrupts a command knows why it ended, but not always what became of its work.
      else if (codeOf(error) === "ABORTED") tell(error, session.out.json);
      else if (soFar !== undefined) tell(failure("ABORTED", `stopped; ${soFar}`), session.out.json);
    }
    try {
      await session.end();
    } catch (error) {
      code ||= tell(error, session.out.json);
    }
    const { exitCode } = interruption;
    const asked = session.servesUntilStopped && exitCode === EXIT.terminated;
    process.exitCode = code || (asked ? EXIT.ok : exitCode) || process.exitCode || EXIT.ok;
  };
}

/** What a command must be given, and is given as nothing: mostly a variable of the shell that is not set. */
function refuseEmpty(command: Command, args: readonly unknown[]): void {
  const options: Readonly<Record<string, unknown>> = command.opts();
  const empty =
    command.registeredArguments.find((_, i) => args[i] === "")?.name() ??
    command.options.find((option) => option.mandatory && options[option.attributeName()] === "")?.long;
  if (empty !== undefined) throw usageError(`${empty} is empty`, "is a variable of the shell not set?");
}

function tell(error: unknown, json: boolean): number {
  process.stderr.write(`${failureText(error, { json })}\n`);
  return exitCodeOf(error);
}

export function withJson(command: Command): Command {
  return command.option("--json", "print JSON instead of words and tables");
}

const CONNECTION: readonly Option[] = [
  new Option("--url <url>", "a hub").conflicts("store"),
  new Option("--token <token>", "token for the hub; better in PROMETHEAN_TOKEN or --token-file"),
  new Option("--token-file <file>", "file that holds the token"),
  new Option("--store <store>", "a store instead of a hub: a file, or mongodb://…"),
  new Option("--context <name>", "a saved connection (see `promethean context`)"),
];

/** Where to: a hub, or a store. In the help they stand behind what the command itself takes. */
export function withConnection(command: Command): Command {
  withJson(command);
  for (const option of CONNECTION) command.addOption(option.helpGroup("Connection:"));
  return command;
}

/** For what cannot be taken back. */
export function withConsent(command: Command): Command {
  return command
    .option("--dry-run", "say what would happen and change nothing")
    .option("-y, --yes", "do not ask for confirmation");
}
