/**
 * Who uses a store file: many processes, or one that wants it for itself. An empty file beside it is held by SQLite's own
 * locks, shared or exclusively, for as long as the store is open. The operating system lets go of them when a process ends, however it ends.
 */
import { existsSync } from "node:fs";
import { BusError } from "../../model/errors.js";
import { busError, isBusy } from "./errors.js";
import type { WriterOptions } from "./protocol.js";
import { Connection } from "./sqlite.js";

function usePath(path: string): string {
  return `${path}-use`;
}

export class UseLock {
  readonly #connection: Connection;

  constructor({
    path,
    exclusive,
    busyTimeoutMs,
  }: Pick<WriterOptions, "path" | "exclusive" | "busyTimeoutMs">) {
    this.#connection = new Connection(usePath(path), { busyTimeoutMs });
    try {
      this.#connection.exec(exclusive ? "BEGIN EXCLUSIVE" : "BEGIN; SELECT count(*) FROM sqlite_master");
    } catch (error) {
      this.#connection.close();
      if (!isBusy(error)) throw busError(error, path);
      throw heldElsewhere(path, exclusive, error);
    }
  }

  /** Whether somebody has the store at `path` open. */
  static isHeld(path: string): boolean {
    if (!existsSync(usePath(path))) return false;
    try {
      new UseLock({ path, exclusive: true, busyTimeoutMs: 0 }).release();
      return false;
    } catch (error) {
      return BusError.is(error, "STORE_LOCKED");
    }
  }

  release(): void {
    this.#connection.close();
  }
}

function heldElsewhere(path: string, exclusive: boolean, cause: unknown): BusError {
  const why = exclusive
    ? "is open elsewhere, so it cannot be had exclusively; close it there, or open it without `exclusive`"
    : "is open elsewhere with `exclusive`; close it there, or open it there without";
  return new BusError("STORE_LOCKED", `${path} ${why}`, { cause, details: { path } });
}
