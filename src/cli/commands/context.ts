/** `promethean context`: names for hubs and stores, so that commands need no flags. */
import { resolve } from "node:path";
import type { Command } from "commander";
import { checkHubAddress, checkToken, tokenIn } from "../connection.js";
import { type Context, demandContext, readContexts, writeContexts } from "../contexts.js";
import { usageError } from "../exit.js";
import { newCommand } from "../own-command.js";
import { perform, type Session, withJson } from "../session.js";
import { isMongoAddress, redacted } from "../store-choice.js";

export function contextCommand(): Command {
  return newCommand("context", "Saved connections.", [
    "promethean context save local --url http://127.0.0.1:8420 --token <token>",
  ])
    .addCommand(saveCommand())
    .addCommand(
      withJson(newCommand("ls", "Lists them; the one in use has a star.", ["promethean context ls"])).action(
        perform<object, []>(list),
      ),
    )
    .addCommand(
      withJson(
        newCommand("use", "Uses one from now on.", ["promethean context use local"]).argument(
          "<name>",
          "its name",
        ),
      ).action(perform<object, [string]>(use)),
    )
    .addCommand(
      withJson(
        newCommand("rm", "Forgets one.", ["promethean context rm local"]).argument("<name>", "its name"),
      ).action(perform<object, [string]>(forget)),
    );
}

function saveCommand(): Command {
  const command = newCommand(
    "save",
    "Saves a connection and uses it from now on. The file is readable by you alone.",
    [
      "promethean context save local --url http://127.0.0.1:8420 --token-file token",
      "promethean context save files --store ./bus.db",
    ],
  )
    .argument("<name>", "its name")
    .option("--url <url>", "a hub")
    .option("--token <token>", "token for the hub; better with --token-file")
    .option("--token-file <file>", "file that holds the token, which is saved")
    .option("--store <store>", "a store: a file, or mongodb://…");
  return withJson(command).action(perform<SaveOptions, [string]>(save));
}

interface SaveOptions extends Context {
  readonly tokenFile?: string;
}

async function save(session: Session<SaveOptions>, name: string): Promise<void> {
  const { url, store } = session.options;
  if ((url === undefined) === (store === undefined)) throw usageError("give either --url or --store");
  const { contexts } = await readContexts();
  const context = url === undefined ? { store: placeOf(store ?? "") } : await hubAt(url, session.options);
  await writeContexts({ current: name, contexts: { ...contexts, [name]: context } });
  session.out.value({ name, current: true }, `${name} is saved and in use.`);
}

/** Commands may be run elsewhere later: a file is meant where it is now. */
function placeOf(store: string): string {
  return isMongoAddress(store) || store === "memory" ? store : resolve(store);
}

async function hubAt(url: string, { token, tokenFile }: SaveOptions): Promise<Context> {
  checkHubAddress(url);
  const given = tokenFile === undefined ? token : await tokenIn(tokenFile);
  checkToken(given);
  return { url, ...(given !== undefined && { token: given }) };
}

async function list({ out }: Session): Promise<void> {
  const { current, contexts } = await readContexts();
  const rows = Object.entries(contexts).map(([name, { url, token, store }]) => ({
    name,
    current: name === current,
    target: url ?? redacted(store ?? ""),
    token: token !== undefined,
  }));
  out.table(
    rows,
    [
      { title: "", cell: (row) => (row.current ? "*" : " ") },
      { title: "NAME", cell: ({ name }) => name },
      { title: "TO", cell: ({ target }) => target },
      { title: "TOKEN", cell: ({ token }) => (token ? "yes" : "no") },
    ],
    "No contexts are saved.",
  );
}

async function use({ out }: Session, name: string): Promise<void> {
  const saved = await readContexts();
  demandContext(saved.contexts, name);
  await writeContexts({ ...saved, current: name });
  out.value({ name, current: true }, `${name} is in use.`);
}

async function forget({ out }: Session, name: string): Promise<void> {
  const { current, contexts } = await readContexts();
  demandContext(contexts, name);
  const { [name]: _, ...rest } = contexts;
  await writeContexts({ ...(current !== undefined && current !== name && { current }), contexts: rest });
  out.value({ name, removed: true }, `${name} is forgotten.`);
}
