/**
 * Which hub or store a command talks to. What was said nearest counts: flags, then the environment, then the saved
 * context, then the hub or the file in PROMETHEAN_DATA.
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Backend } from "./backend.js";
import { contextOf } from "./contexts.js";
import { DataFolder } from "./data-folder.js";
import { failure, usageError } from "./exit.js";
import { HubApi } from "./hub-api.js";
import type { CommonOptions } from "./session.js";

interface Target {
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  readonly store?: string | undefined;
}

export async function connect(options: CommonOptions, signal: AbortSignal): Promise<Backend> {
  const target = await targetOf(options);
  if (target.store !== undefined) {
    const { privateHub } = await import("./private-hub.js");
    return privateHub(target.store, signal);
  }
  const { url, token } = target;
  checkHubAddress(url);
  checkToken(token);
  return new HubApi({ url, token, signal });
}

export function checkHubAddress(url: string | undefined): asserts url is string {
  if (url === undefined || !/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw usageError(`"${url}" is no address of a hub`, "write http:// or https:// before it");
}

/** One that no request can carry would look like a hub that does not answer. */
export function checkToken(token: string | undefined): void {
  if (token !== undefined && /[^\x20-\x7e]/.test(token))
    throw usageError("what was given as token is none: it has line breaks, or letters that no token has");
}

async function targetOf(options: CommonOptions): Promise<Target> {
  const { env } = process;
  const token = await tokenOf(options);
  if (options.store !== undefined) return { store: options.store };
  if (options.url !== undefined) return { url: options.url, token };
  if (options.context !== undefined) return withToken(await contextOf(options.context), token);
  if (env.PROMETHEAN_URL) return { url: env.PROMETHEAN_URL, token };
  const folder = DataFolder.ofEnvironment();
  if (!env.PROMETHEAN_DATA && !env.PROMETHEAN_STORE) {
    const saved = await contextOf(undefined);
    if (saved !== undefined) return withToken(saved, token);
  }
  const running = await folder.running();
  if (running !== undefined) return { url: running.url, token: token ?? (await folder.knownToken()) };
  if (env.PROMETHEAN_STORE) return { store: env.PROMETHEAN_STORE };
  if (existsSync(folder.storeFile)) return { store: folder.storeFile };
  throw failure("USAGE", "there is no hub or store to talk to", {
    hint: "start one with `promethean up`, or name one with --url or --store",
  });
}

function withToken(target: Target | undefined, token: string | undefined): Target {
  return { ...target, token: token ?? target?.token };
}

async function tokenOf({ token, tokenFile }: CommonOptions): Promise<string | undefined> {
  const { PROMETHEAN_TOKEN, PROMETHEAN_TOKEN_FILE } = process.env;
  if (token !== undefined) return token;
  const file = tokenFile ?? (PROMETHEAN_TOKEN ? undefined : PROMETHEAN_TOKEN_FILE);
  return file ? tokenIn(file) : PROMETHEAN_TOKEN?.trim() || undefined;
}

export async function tokenIn(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    throw failure("USAGE", `the token cannot be read from ${file}`, { cause: error });
  }
}
