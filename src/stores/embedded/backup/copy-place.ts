/**
 * Where a copy of a store may be put, and where it lies until it is whole. A copy takes nobody's place who has a store open
 * there, and beside it lies nothing that would be taken for a part of it.
 */
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { BusError } from "../../../model/errors.js";
import { syncFolder } from "../sync.js";
import { UseLock } from "../use-lock.js";
import { partOf } from "./partial-copy.js";
import { realFile } from "./real-file.js";

/** What a store that was not closed leaves beside it, and SQLite takes for its newest pages. */
const LEFT = ["-wal", "-journal"];

/** Throws unless a copy may be put there. */
export async function demandFree(target: string): Promise<void> {
  const place = await realFile(target);
  if (UseLock.isHeld(place)) throw refusal(`${target} is a store that is open`);
  for (const suffix of LEFT) {
    if ((await stat(place + suffix).catch(() => undefined))?.size)
      throw refusal(`${place}${suffix} was left by a store that was not closed; move it away`);
  }
}

/** A copy that is not whole yet. Of two that are written to one place, the later one appears, and the earlier one fails. */
export class Copy {
  readonly #target: string;
  readonly #file: FileHandle;
  #path: string;

  private constructor(target: string, path: string, file: FileHandle) {
    this.#target = target;
    this.#path = path;
    this.#file = file;
  }

  /** What is left of an earlier one goes. */
  static async begin(target: string): Promise<Copy> {
    const path = partOf(target);
    await rm(path, { force: true });
    return new Copy(target, path, await open(path, "wx+"));
  }

  get path(): string {
    return this.#path;
  }

  get fd(): number {
    return this.#file.fd;
  }

  /** Behind what was written before. */
  async write(piece: Uint8Array): Promise<void> {
    await this.#file.writeFile(piece);
  }

  /** To where nobody else looks for it. Throws if somebody else has put another file in its place. */
  async setAside(): Promise<void> {
    const aside = `${this.#path}-${process.pid}`;
    await rename(this.#path, aside);
    if (await this.#isAt(aside)) {
      this.#path = aside;
      return;
    }
    await rename(aside, this.#path);
    throw new Error(`somebody else writes to ${this.#path}`);
  }

  /** Under the name that it is for, once it is on disk. */
  async appear(): Promise<void> {
    await this.#file.sync();
    await rename(this.#path, this.#target);
    await syncFolder(dirname(this.#target));
  }

  /** Nothing stays of one that has not appeared. */
  async end(): Promise<void> {
    if (await this.#isAt(this.#path)) await rm(this.#path, { force: true });
    await this.#file.close();
  }

  async #isAt(path: string): Promise<boolean> {
    const own = await this.#file.stat();
    const there = await stat(path).catch(() => undefined);
    return there !== undefined && own.ino === there.ino && own.dev === there.dev;
  }
}

function refusal(words: string): BusError {
  return new BusError("STORE_UNAVAILABLE", `no copy can be put there: ${words}`, { retryable: false });
}
