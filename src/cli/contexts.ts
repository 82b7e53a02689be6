/** Saved connections: names for hubs and stores, in one file that only its owner can read. */
import { chmod, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { failure } from "./exit.js";
import { makeFolder } from "./store-choice.js";

export interface Context {
  readonly url?: string;
  readonly token?: string;
  readonly store?: string;
}

export interface Contexts {
  readonly current?: string;
  readonly contexts: Readonly<Record<string, Context>>;
}

export function contextsFile(): string {
  const { PROMETHEAN_CONTEXTS, XDG_CONFIG_HOME } = process.env;
  return (
    PROMETHEAN_CONTEXTS || join(XDG_CONFIG_HOME || join(homedir(), ".config"), "promethean", "contexts.json")
  );
}

export async function readContexts(): Promise<Contexts> {
  const file = contextsFile();
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw failure("STORE_UNAVAILABLE", `${file} cannot be read (${error.code})`, { cause: error });
  });
  if (text === undefined) return { contexts: {} };
  try {
    const read = JSON.parse(text) as Partial<Contexts>;
    if (typeof read.contexts === "object" && read.contexts !== null) return read as Contexts;
  } catch {
    // Told below, as for a file that holds something else.
  }
  throw failure("INVALID_OPTION", `${file} is not a list of contexts`, {
    hint: "mend it, or remove it",
  });
}

export async function writeContexts(contexts: Contexts): Promise<void> {
  const file = contextsFile();
  const hint = "choose a place that you may write to: PROMETHEAN_CONTEXTS=<file>";
  await makeFolder(dirname(file), hint);
  const partial = `${file}.${process.pid}`;
  try {
    await writeFile(partial, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
    await chmod(partial, 0o600);
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true }).catch(() => undefined);
    const { code } = error as NodeJS.ErrnoException;
    throw failure("STORE_UNAVAILABLE", `${file} cannot be written (${code})`, { hint, cause: error });
  }
}

/** The named one, which must be there, or the current one, if any. */
export async function contextOf(name: string | undefined): Promise<Context | undefined> {
  const { current, contexts } = await readContexts();
  const wanted = name ?? current;
  return wanted === undefined ? undefined : demandContext(contexts, wanted);
}

export function demandContext(contexts: Contexts["contexts"], name: string): Context {
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (found !== undefined) return found;
  throw failure("NOT_FOUND", `there is no context "${name}"`, { hint: "`promethean context ls` lists them" });
}
