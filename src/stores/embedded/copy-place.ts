/**
 * Where a copy of a store may be put, and where it lies until it is whole. A copy takes nobody's place who has a store open
 * there, and beside it lies nothing that would be taken for a part of it.
 */
import { type FileHandle, open, rm, stat } from "node:fs/promises";
import { BusError } from "../../model/errors.js";
import { isBusy } from "./errors.js";
import { realFile } from "./real-file.js";
import { Connection } from "./sqlite.js";

/** What a store that was not closed leaves beside it, and SQLite takes for its newest pages. */
const LEFT = ["-wal", "-journal"];

/** Throws unless a copy may be put there. */
export async function demandFree(target: string): Promise<void> {
  const place = await realFile(target);
  if (await isHeld(`${place}-use`)) throw refusal(`${target} is a store that is open`);
  for (const suffix of LEFT) {
    if (await sizeOf(place + suffix))
      throw refusal(`${place}${suffix} was left by a store that was not closed; move it away`);
  }
}

/** A new file for a copy that is not whole yet; one that a process left that was killed goes. */
export async function beginCopy(partial: string): Promise<FileHandle> {
  if (await isHeld(partial)) throw refusal(`another copy is being written to ${partial}`);
  await rm(partial, { force: true });
  return open(partial, "wx+");
}

/** Whether it is still the file of that name: else somebody else writes a copy there. */
export async function isInPlace(copy: FileHandle): Promise<boolean> {
  return (await copy.stat()).nlink > 0;
}

/** Whether somebody holds SQLite's lock on a file. */
async function isHeld(path: string): Promise<boolean> {
  if ((await sizeOf(path)) === undefined) return false;
  const connection = new Connection(path, { busyTimeoutMs: 0 });
  try {
    connection.exec("BEGIN EXCLUSIVE");
    return false;
  } catch (error) {
    return isBusy(error);
  } finally {
    connection.close();
  }
}

/** Undefined if there is none. */
async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}

function refusal(words: string): BusError {
  return new BusError("STORE_UNAVAILABLE", `no copy can be put there: ${words}`, { retryable: false });
}
