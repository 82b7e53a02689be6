/**
 * The file ahead on its device: a record is put together in the image of the file, and what it touches is written. Past the system's
 * cache where that can be done: such a write is on the device when it returns, and takes two thirds of the time of a write
 * and a sync, where the last ones were a millisecond ago.
 *
 * Such writes are of whole blocks, from memory that begins with one. Of what stands before a record in its first block, and
 * behind it in its last, the same bytes are written again.
 */
import { closeSync, constants, fdatasyncSync, openSync, writeSync } from "node:fs";

/** A block of every device that we know of is as long, or a part of it. */
const BLOCK_BYTES = 4_096;

export class AheadDisk {
  /** Whether it is written past the cache. */
  readonly isDirect: boolean;
  readonly #image: Buffer;
  #fd: number | undefined;

  /** Of a file and an image that are new, and hold zeros. `useCache`: as where nothing else can be done. */
  constructor(path: string, image: SharedArrayBuffer, useCache = false) {
    this.#image = Buffer.from(image);
    const direct = useCache ? undefined : openDirect(path, this.#image);
    this.isDirect = direct !== undefined;
    this.#fd = direct ?? openSync(path, "r+");
  }

  get isOpen(): boolean {
    return this.#fd !== undefined;
  }

  /** Where a record is put together that will stand at `from`. */
  room(from: number, bytes: number): Buffer {
    return this.#image.subarray(from, from + bytes);
  }

  /** Writes these bytes of the image: they are on the device when it returns. Throws, and is closed, if that is not certain. */
  write(from: number, bytes: number): void {
    try {
      this.#write(this.#fd as number, from, bytes);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  #write(fd: number, from: number, bytes: number): void {
    if (!this.isDirect) {
      writeAll(fd, this.#image, from, from + bytes);
      fdatasyncSync(fd);
      return;
    }
    const start = from - (from % BLOCK_BYTES);
    const end = Math.ceil((from + bytes) / BLOCK_BYTES) * BLOCK_BYTES;
    writeAll(fd, this.#image, start, end);
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

/** A device that becomes full may take a part of it and say no more. */
function writeAll(fd: number, image: Buffer, from: number, to: number): void {
  const written = writeSync(fd, image, from, to - from, from);
  if (written !== to - from) throw new Error(`${written} of ${to - from} bytes were written`);
}

/** Undefined where this cannot be done; a file system says so on opening, or on the first write. */
function openDirect(path: string, zeros: Buffer): number | undefined {
  const { O_DSYNC, O_DIRECT } = constants as Partial<typeof constants>;
  if (O_DSYNC === undefined || O_DIRECT === undefined) return undefined;
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDWR | O_DSYNC | O_DIRECT);
    writeAll(fd, zeros, 0, BLOCK_BYTES);
    return fd;
  } catch {
    if (fd !== undefined) closeSync(fd);
    return undefined;
  }
}
