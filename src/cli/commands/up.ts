/**
 * `promethean up`: a hub on this machine with the console and the worked example, and the link that signs a browser in.
 * With a terminal a status line that is kept up to date, or a live table; without one a line now and then.
 */
import { type Command, InvalidArgumentError } from "commander";
import type { Bus } from "../../bus/bus.js";
import type { Hub } from "../../hub/server.js";
import { pause, systemClock } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import { consoleIsBuilt, signInLink } from "../console-link.js";
import { DataFolder } from "../data-folder.js";
import { failure } from "../exit.js";
import { newCommand } from "../own-command.js";
import { isScreen } from "../screen.js";
import { perform, type Session } from "../session.js";
import { chooseStore, redacted } from "../store-choice.js";
import { RecentTrouble, WatchedMachine } from "../watched-machine.js";

const DEFAULT_PORT = 8_420;
const DEFAULT_HOST = "127.0.0.1";

interface UpOptions {
  readonly port?: number;
  readonly host?: string;
  readonly data?: string;
  readonly example: boolean;
  readonly table?: boolean;
  readonly plain?: boolean;
}

export function upCommand(): Command {
  return newCommand(
    "up",
    "Starts a hub here, with the console and a worked example: this machine's processes.",
    [
      "promethean up",
      "PROMETHEAN_PORT=0 PROMETHEAN_DATA=./data promethean up --plain",
      "promethean up --no-example --store 'mongodb://localhost:27017/bus?replicaSet=rs0'",
    ],
  )
    .option(
      "--port <port>",
      `where it listens; 0 for any free port (PROMETHEAN_PORT, default ${DEFAULT_PORT})`,
      port,
    )
    .option("--host <host>", `the address it listens on (PROMETHEAN_HOST, default ${DEFAULT_HOST})`)
    .option(
      "--data <folder>",
      "folder of its events and of the admin's token (PROMETHEAN_DATA, default .promethean)",
    )
    .option("--store <store>", "where events are kept instead: a file, or mongodb://… (PROMETHEAN_STORE)")
    .option("--no-example", "only the hub, without the worked example")
    .option("--table", "a live table of the processes, in a terminal")
    .option("--plain", "a line now and then, as when the output is no terminal")
    .action(perform<UpOptions, []>(up));
}

function port(text: string): number {
  const value = portIn(text);
  if (value === undefined) throw new InvalidArgumentError("A port is a number from 0 to 65535.");
  return value;
}

function portIn(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

async function up(session: Session<UpOptions>): Promise<void> {
  session.servesUntilStopped = true;
  const { options, signal } = session;
  const { env } = process;
  const folder = options.data === undefined ? DataFolder.ofEnvironment() : new DataFolder(options.data);
  await folder.prepare();
  await refuseSecond(folder);
  const token = await folder.adminToken();
  const trouble = new RecentTrouble();
  const bus = await openBus(options.store ?? (env.PROMETHEAN_STORE || folder.storeFile), trouble);
  session.onEnd(() => bus.close());
  const hub = await listen(bus, token, {
    host: options.host ?? (env.PROMETHEAN_HOST || DEFAULT_HOST),
    port: options.port ?? portOfEnvironment(),
  });
  session.onEnd(() => hub.close());
  session.onEnd(await folder.claim(hub.url));
  const machine = options.example ? await WatchedMachine.start(bus, trouble) : undefined;
  announce(hub, token, bus, folder);
  if (machine === undefined) await pause(systemClock, Number.MAX_SAFE_INTEGER, signal);
  else await show(session, machine, signInLink(hub.url, token));
}

function portOfEnvironment(): number {
  const text = process.env.PROMETHEAN_PORT;
  if (!text) return DEFAULT_PORT;
  const value = portIn(text);
  if (value === undefined)
    throw failure("USAGE", `PROMETHEAN_PORT is "${text}"; a port is a number from 0 to 65535`);
  return value;
}

async function refuseSecond(folder: DataFolder): Promise<void> {
  const running = await folder.running();
  if (running === undefined) return;
  const token = await folder.knownToken();
  throw failure("STORE_LOCKED", `a hub runs on ${folder.path} already (process ${running.pid})`, {
    hint: `open ${signInLink(running.url, token ?? "")}\n  or stop it with \`kill ${running.pid}\`, or use another folder: PROMETHEAN_DATA=<folder>`,
  });
}

async function openBus(store: string, trouble: RecentTrouble): Promise<Bus> {
  const { createBus } = await import("../../bus/create-bus.js");
  try {
    return await createBus({
      store: await chooseStore(store, { onWarning: trouble.note }),
      drainMs: 2_000,
      onTrouble: ({ error }) => trouble.note(error),
    });
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    throw failure(error.code, `${redacted(store)} cannot be used: ${error.message}`, {
      cause: error,
      hint: "to begin anew beside it, choose another folder: PROMETHEAN_DATA=<folder>, or --data <folder>",
    });
  }
}

const OF_THE_PORT: ReadonlySet<unknown> = new Set(["EADDRINUSE", "EACCES"]);
const ANOTHER_PORT = "choose another port: PROMETHEAN_PORT=<port>, or PROMETHEAN_PORT=0 for any free one";
const ANOTHER_HOST =
  "choose an address of this machine: PROMETHEAN_HOST=127.0.0.1, or PROMETHEAN_HOST=0.0.0.0 for all of them";

async function listen(
  bus: Bus,
  token: string,
  where: { readonly host: string; readonly port: number },
): Promise<Hub> {
  const { startHub } = await import("../../hub/server.js");
  const { checkedBus } = await import("../checked-bus.js");
  try {
    return await startHub({
      bus: await checkedBus(bus),
      ...where,
      auth: { tokens: { [token]: { scopes: ["*:*"], subject: "admin" } } },
    });
  } catch (error) {
    const { code, message, cause } = BusError.from(error);
    const isOfPort = OF_THE_PORT.has((cause as NodeJS.ErrnoException | undefined)?.code);
    throw failure(code, message, { cause: error, hint: isOfPort ? ANOTHER_PORT : ANOTHER_HOST });
  }
}

function announce(hub: Hub, token: string, bus: Bus, folder: DataFolder): void {
  const link = signInLink(hub.url, token);
  const what = consoleIsBuilt() ? "The console, signed in" : "The hub (its console is not built)";
  process.stdout.write(
    `\n  Promethean is up.\n\n  ${what}:\n  ${link}\n\n` +
      `  Events are kept in ${bus.store.name.replace(/^embedded /, "")}\n` +
      `  The admin's token is in ${folder.tokenFile}\n  Ctrl-C ends it.\n\n`,
  );
}

async function show(session: Session<UpOptions>, machine: WatchedMachine, link: string): Promise<void> {
  const { showStatus, showTable, printLines, lastWord } = await import("../up-screens.js");
  const { plain, table } = session.options;
  const live = isScreen() && !plain;
  if (live && table) await showTable(machine, session.signal, link);
  else if (live) await showStatus(machine, session.signal);
  else await printLines(machine, session.signal);
  lastWord(machine);
}
