/**
 * A consistent copy of the file, while readers and writers of it go on. It is made a stretch of pages at a time, all of them in
 * one read transaction: between two stretches it can be given up, which one long statement would not allow.
 */
import { fdatasyncSync, writeSync } from "node:fs";
import { BusError } from "../../../model/errors.js";
import { unavailable } from "../errors.js";
import { type Connection, SqliteFault } from "../sqlite.js";
import { wholeOf } from "./partial-copy.js";

/** About a megabyte, a few milliseconds. */
const STRETCH_PAGES = 256;

const SYNCED_PAGES = 64 * STRETCH_PAGES;

const PAGES = `
  WITH RECURSIVE wanted(page) AS (SELECT CAST(? AS INTEGER) UNION ALL SELECT page + 1 FROM wanted WHERE page < ?)
  SELECT data FROM wanted CROSS JOIN sqlite_dbpage WHERE pgno = page`;

/** Where the copy goes: an empty file that is open. */
export interface CopyTarget {
  readonly path: string;
  /** Whatever has its name by now, this is the one. */
  readonly file: number;
}

export function copyFile(connection: Connection, target: CopyTarget, isGivenUp: () => boolean): void {
  if (hasPages(connection)) copyPages(connection, target, isGivenUp);
  else copyAtOnce(connection, target);
}

export function copyPages(
  connection: Connection,
  { path, file }: CopyTarget,
  isGivenUp: () => boolean,
): void {
  try {
    writePages(connection, file, isGivenUp);
  } catch (error) {
    throw error instanceof SqliteFault ? error : unwritable(path, error);
  }
}

function writePages(connection: Connection, file: number, isGivenUp: () => boolean): void {
  connection.snapshot(() => {
    const last = Number(connection.pragma("page_count"));
    const stretch = connection.prepare(PAGES);
    for (let page = 1; page <= last; page += STRETCH_PAGES) {
      if (isGivenUp()) throw new BusError("ABORTED", "the copy was given up");
      const rows = stretch.all<[Uint8Array]>(page, Math.min(last, page + STRETCH_PAGES - 1));
      writeAll(file, Buffer.concat(rows.map(([data]) => data)));
      // A long wait for the device at the end could not be broken off.
      if (page % SYNCED_PAGES === 1) fdatasyncSync(file);
    }
  });
}

/** For builds of the engine that do not show their pages. */
export function copyAtOnce(connection: Connection, { path }: CopyTarget): void {
  connection.prepare("VACUUM INTO ?").run(path);
}

function hasPages(connection: Connection): boolean {
  return (
    connection.prepare("SELECT 1 FROM pragma_module_list WHERE name = 'sqlite_dbpage'").get() !== undefined
  );
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

function unwritable(part: string, error: unknown): BusError {
  const target = wholeOf(part);
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ENOSPC" && code !== "EDQUOT") return unavailable(`${target} cannot be written`, error);
  return new BusError("STORE_FULL", `there is no room left for ${target}`, { cause: error });
}
