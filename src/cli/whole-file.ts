/** A file that appears under its name once it is whole; until then it has another, and nobody takes a part for all of it. */
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";

export class WholeFile {
  readonly path: string;
  readonly #part: string;
  readonly #handle: FileHandle;
  #open = true;

  private constructor(path: string, part: string, handle: FileHandle) {
    this.path = path;
    this.#part = part;
    this.#handle = handle;
  }

  static async begin(path: string): Promise<WholeFile> {
    const there = await stat(path).catch(() => undefined);
    // A pipe or a device is written to as it is.
    const part = there === undefined || there.isFile() ? `${path}.part` : path;
    return new WholeFile(path, part, await open(part, "w"));
  }

  async write(piece: Uint8Array): Promise<void> {
    await this.#handle.writeFile(piece);
  }

  async appear(): Promise<void> {
    await this.#close();
    if (this.#part !== this.path) await rename(this.#part, this.path);
  }

  /** Leaves nothing behind of what has not appeared. Afterwards harmless. */
  async end(): Promise<void> {
    if (!this.#open) return;
    await this.#close();
    if (this.#part !== this.path) await rm(this.#part, { force: true });
  }

  async #close(): Promise<void> {
    this.#open = false;
    await this.#handle.close();
  }
}
