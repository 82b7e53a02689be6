/**
 * The folder of an embedded hub (PROMETHEAN_DATA): the store's file, the admin's token, and a note of who runs it. One
 * hub runs in a folder at a time.
 */
import { randomBytes } from "node:crypto";
import { access, constants, open, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { failure } from "./exit.js";
import { httpCall } from "./http-call.js";
import { makeFolder } from "./store-choice.js";

export interface RunningHub {
  readonly pid: number;
  readonly url: string;
}

const STORE_FILE = "bus.db";
const TOKEN_FILE = "admin-token";
const NOTE_FILE = "hub.json";
const HEALTH_TIMEOUT_MS = 2_000;

export class DataFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  /** What PROMETHEAN_DATA names. */
  static ofEnvironment(): DataFolder {
    return new DataFolder(process.env.PROMETHEAN_DATA || ".promethean");
  }

  get storeFile(): string {
    return join(this.path, STORE_FILE);
  }

  get tokenFile(): string {
    return join(this.path, TOKEN_FILE);
  }

  /** Makes it if it is missing, and makes sure that it can be written. */
  async prepare(): Promise<void> {
    await makeFolder(this.path);
    try {
      await access(this.path, constants.W_OK | constants.X_OK);
    } catch (error) {
      throw failure("STORE_UNAVAILABLE", `the folder ${this.path} cannot be written`, {
        cause: error,
        hint: "give yourself the right to, or choose another: PROMETHEAN_DATA=<folder>",
      });
    }
  }

  /** The admin's token; made at the first run, readable by its owner alone. */
  async adminToken(): Promise<string> {
    const known = await this.knownToken();
    if (known !== undefined) return known;
    const token = randomBytes(24).toString("base64url");
    await writeFile(this.tokenFile, `${token}\n`, { mode: 0o600, flag: "wx" }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      },
    );
    return (await this.knownToken()) ?? token;
  }

  async knownToken(): Promise<string | undefined> {
    const text = await readFile(this.tokenFile, "utf8").catch(() => "");
    return text.trim() || undefined;
  }

  /** The hub that runs here, if it answers. */
  async running(): Promise<RunningHub | undefined> {
    const note = await this.#note();
    if (note === undefined || !isAlive(note.pid)) return undefined;
    return (await answers(note.url)) ? note : undefined;
  }

  /** Says that this process runs here; whoever was there before must be gone. */
  async claim(url: string): Promise<() => Promise<void>> {
    const file = join(this.path, NOTE_FILE);
    await rm(file, { force: true });
    const handle = await open(file, "wx", 0o600);
    await handle.writeFile(`${JSON.stringify({ pid: process.pid, url })}\n`);
    await handle.close();
    return async () => {
      if ((await this.#note())?.pid === process.pid) await rm(file, { force: true });
    };
  }

  async #note(): Promise<RunningHub | undefined> {
    try {
      const note = JSON.parse(await readFile(join(this.path, NOTE_FILE), "utf8")) as Partial<RunningHub>;
      if (typeof note.pid === "number" && typeof note.url === "string") return note as RunningHub;
    } catch {
      // None, or half of one.
    }
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS);
    const response = await httpCall(`${url}/healthz`, { signal });
    response.resume();
    return response.statusCode === 200;
  } catch {
    return false;
  }
}
