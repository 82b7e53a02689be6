/**
 * The file ahead, as the writing thread sees it: it lies beside a store that one process has for itself, and holds appends
 * that are on disk there and not yet in the store. Each record stands behind the one before it, or at the beginning
 * of the file, where all that stood before is in the store. `applied` in the store counts how far that has come, in one transaction with the
 * events themselves, so that after a crash each record is applied once.
 *
 * The file has its full size from the beginning: a sync then waits for bytes alone.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { BusError, describeThrown } from "../../../model/errors.js";
import type { Connection } from "../sqlite.js";
import { AHEAD_BYTES, newImage } from "./ahead-image.js";
import { type AheadRecord, readRecord, recordsIn } from "./ahead-record.js";

/** Salts are larger, and 0 once the store was closed. Those of earlier builds are smaller, and stayed. */
const SALTS_FROM = 2 ** 48;
/** Looked at together, while the store is open; more than the longest record. */
const WINDOW_BYTES = 65_536;

export function aheadPath(path: string): string {
  return `${path}-ahead`;
}

export class AheadFile {
  readonly #connection: Connection;
  #salt = 0;
  #serial = 0;
  /** Of the file that was begun: what stands in it was put there first, and need not be read from the disk. */
  #image: SharedArrayBuffer | undefined;
  /** Where the next record begins, unless it stands at the beginning of the file; undefined until the file was looked through. */
  #at: number | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Reads how far the store has come. Inside a transaction. */
  load(): void {
    const row = this.#connection
      .sql("SELECT salt, applied FROM ahead")
      .get<[salt: number, applied: number]>();
    [this.#salt, this.#serial] = row ?? [0, 0];
  }

  /** Records that the store does not have yet, in order, as many as are found at once. */
  next(): AheadRecord[] {
    if (this.#at === undefined) return this.#recover();
    const found = this.#from(this.#at, WINDOW_BYTES);
    return found.length > 0 || this.#at === 0 ? found : this.#from(0, WINDOW_BYTES);
  }

  /** That these are in the store; committed with them. */
  applied(records: readonly AheadRecord[]): void {
    const last = records.at(-1);
    if (last === undefined) return;
    this.#connection.sql("UPDATE ahead SET applied = ?").run(last.serial);
    this.#serial = last.serial;
    this.#at = last.end;
  }

  get serial(): number {
    return this.#serial;
  }

  /** Makes the file anew, for records under a salt of their own. Inside a transaction; all of the old ones must be applied. */
  begin(): { salt: number; image: SharedArrayBuffer } {
    makeFile(aheadPath(this.#connection.path));
    this.#salt = SALTS_FROM + Math.floor(Math.random() * 2 ** 48) + 1;
    this.#serial = 0;
    this.#at = 0;
    this.#connection.sql("UPDATE ahead SET salt = ?, applied = 0").run(this.#salt);
    this.#image = newImage();
    return { salt: this.#salt, image: this.#image };
  }

  /** Whether whoever opens the store next looks for it. */
  get isBegun(): boolean {
    return this.#salt > 0;
  }

  /** Whether it is gone although the store was not closed: what stood in it may be missing. */
  get isLost(): boolean {
    return this.#salt > SALTS_FROM && !existsSync(aheadPath(this.#connection.path));
  }

  /** Nobody will look for it any more. Inside a transaction; all of it must be applied. */
  end(): void {
    this.#connection.sql("UPDATE ahead SET salt = 0, applied = 0").run();
    this.#salt = 0;
    this.#serial = 0;
  }

  /** All of it is in the store. */
  remove(): void {
    rmSync(aheadPath(this.#connection.path), { force: true });
  }

  /**
   * As `next`, when it is not known where they begin. Each was synced before the next one was written, so that only the last
   * can have been cut off: if one is missing before others, it was answered, and is damaged (P14).
   */
  #recover(): AheadRecord[] {
    const records = recordsIn(this.#read(0, AHEAD_BYTES), this.#salt)
      .filter(({ serial }) => serial > this.#serial)
      .sort((a, b) => a.serial - b.serial);
    const whole = records.findIndex(({ serial }, i) => serial !== this.#serial + 1 + i);
    if (whole >= 0) throw damaged(aheadPath(this.#connection.path), this.#serial + 1 + whole);
    return records;
  }

  /** Records that follow each other from a place on, if the next one stands there. */
  #from(from: number, length: number): AheadRecord[] {
    const bytes = this.#read(from, length);
    const records: AheadRecord[] = [];
    for (let at = 0, serial = this.#serial + 1; ; serial++) {
      const record = readRecord(bytes, at, this.#salt, serial);
      if (record === undefined) return records;
      at = record.end;
      records.push({ serial, appends: record.appends, end: from + at });
    }
  }

  /** A copy: the event loop may be putting the next record together. */
  #read(from: number, length: number): Buffer {
    if (this.#image === undefined)
      return readIfThere(aheadPath(this.#connection.path)).subarray(from, from + length);
    return Buffer.from(new Uint8Array(this.#image, from, Math.min(length, AHEAD_BYTES - from)));
  }
}

function readIfThere(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

function makeFile(path: string): void {
  try {
    const fd = openSync(path, "w+");
    try {
      const zeros = Buffer.alloc(WINDOW_BYTES);
      // A device that becomes full takes a part first, and says so only when it is asked for the rest.
      for (let at = 0; at < AHEAD_BYTES; )
        at += writeSync(fd, zeros, 0, Math.min(zeros.length, AHEAD_BYTES - at), at);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    syncFolder(dirname(path));
  } catch (error) {
    throw cannotMake(path, error);
  }
}

function damaged(path: string, serial: number): BusError {
  return new BusError(
    "STORE_DAMAGED",
    `${path} is damaged: record ${serial} cannot be read, but later ones can, and all of them were answered; restore a backup, or move that file away to go on without what stands in it`,
    { details: { path, record: serial } },
  );
}

function cannotMake(path: string, cause: unknown): BusError {
  const code = (cause as NodeJS.ErrnoException).code === "ENOSPC" ? "STORE_FULL" : "STORE_UNAVAILABLE";
  return new BusError(code, `${path} cannot be made: ${describeThrown(cause)}`, { cause, details: { path } });
}

/** A new file is on disk only once its folder is. Windows knows no such thing. */
function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
