/**
 * What a process did to its files, as strace wrote it down, and what of it a disk may hold after the power went.
 *
 * Whatever was synced is there. Of what came after, each sector of 512 bytes is as it was after some prefix of the writes
 * that touched it, each on its own; the length of the file is one of those it had; a file that was made or removed since
 * the folder was synced may be there or not.
 */

const SECTOR = 512;

export type FileOp =
  | { readonly type: "create" | "remove"; readonly file: string }
  | { readonly type: "write"; readonly file: string; readonly at: number; readonly bytes: Buffer }
  | { readonly type: "truncate"; readonly file: string; readonly size: number }
  | { readonly type: "sync"; readonly file: string };

/** Reads a trace of `strace -f -y -xx`; calls that failed are left out. */
export function parseTrace(text: string): FileOp[] {
  const ops: FileOp[] = [];
  /** By thread: a call that strace shows in two parts; a sync counts from its end, everything else from its start. */
  const begun = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, thread = "", rest = ""] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    if (rest.endsWith("<unfinished ...>")) {
      const head = rest.slice(0, -"<unfinished ...>".length);
      if (/^(fsync|fdatasync)/.test(head)) begun.set(thread, head);
      else pushOp(ops, `${head}) = 0`);
    } else if (rest.startsWith("<... ")) {
      const head = begun.get(thread);
      begun.delete(thread);
      if (head !== undefined && rest.endsWith("= 0")) pushOp(ops, `${head}) = 0`);
    } else if (!/\) += -1 /.test(rest)) pushOp(ops, rest);
  }
  return ops;
}

const CALL = /^(\w+)\((.*)\)\s+=\s+(\S+)/s;

function pushOp(ops: FileOp[], call: string): void {
  const [, name, args = "", result = ""] = CALL.exec(call) ?? [];
  const fd = /^\d+<([^>]*)>/.exec(args)?.[1];
  const file = fd === undefined ? "" : unhex(fd).toString();
  switch (name) {
    case "pwrite64": {
      const [, hex = "", at = "0"] = /, "([^"]*)", \d+, (\d+)/.exec(args) ?? [];
      ops.push({ type: "write", file, at: Number(at), bytes: unhex(hex) });
      return;
    }
    case "write": {
      const [, hex = ""] = /, "([^"]*)"/.exec(args) ?? [];
      ops.push({ type: "write", file, at: -1, bytes: unhex(hex) });
      return;
    }
    case "ftruncate":
      ops.push({ type: "truncate", file, size: Number(/, (\d+)/.exec(args)?.[1]) });
      return;
    case "fsync":
    case "fdatasync":
      ops.push({ type: "sync", file });
      return;
    case "unlink":
      ops.push({ type: "remove", file: quoted(args) });
      return;
    case "openat":
      if (args.includes("O_CREAT") && result !== "-1") ops.push({ type: "create", file: quoted(args) });
      return;
    default:
      return;
  }
}

function quoted(args: string): string {
  return unhex(/"([^"]*)"/.exec(args)?.[1] ?? "").toString();
}

function unhex(text: string): Buffer {
  return Buffer.from(text.replaceAll("\\x", ""), "hex");
}

/** One file: what is certainly on disk, and what may be. */
class DiskFile {
  #synced: Buffer = Buffer.alloc(0);
  /** By sector: what it held after each write since the last sync. */
  readonly #versions = new Map<number, Buffer[]>();
  #sizes: number[] = [];

  get #size(): number {
    return this.#sizes.at(-1) ?? this.#synced.length;
  }

  write(at: number, bytes: Buffer): void {
    const end = at + bytes.length;
    for (let sector = Math.floor(at / SECTOR); sector * SECTOR < end; sector++) {
      const next = Buffer.from(this.#newest(sector));
      const from = Math.max(at, sector * SECTOR);
      bytes.copy(next, from - sector * SECTOR, from - at, Math.min(end, (sector + 1) * SECTOR) - at);
      this.#push(sector, next);
    }
    this.#sizes.push(Math.max(this.#size, end));
  }

  truncate(size: number): void {
    for (let sector = Math.floor(size / SECTOR); sector * SECTOR < this.#size; sector++) {
      const next = Buffer.from(this.#newest(sector));
      next.fill(0, Math.max(0, size - sector * SECTOR));
      this.#push(sector, next);
    }
    this.#sizes.push(size);
  }

  sync(): void {
    const whole = Buffer.alloc(this.#size);
    this.#synced.copy(whole);
    for (const [sector, versions] of this.#versions) versions.at(-1)?.copy(whole, sector * SECTOR);
    this.#synced = whole;
    this.#versions.clear();
    this.#sizes = [];
  }

  /** How many sectors are not synced. */
  get loose(): number {
    return this.#versions.size;
  }

  image(random: () => number): Buffer {
    // One image loses nearly everything that is loose, another nearly nothing.
    const luck = random();
    const sizes = [this.#synced.length, ...this.#sizes];
    const whole = Buffer.alloc(sizes[pickIndex(sizes.length, luck, random)] as number);
    this.#synced.copy(whole);
    for (const [sector, versions] of this.#versions) {
      const index = pickIndex(versions.length + 1, luck, random);
      if (index > 0 && sector * SECTOR < whole.length) versions[index - 1]?.copy(whole, sector * SECTOR);
    }
    return whole;
  }

  #newest(sector: number): Buffer {
    const version = this.#versions.get(sector)?.at(-1);
    if (version !== undefined) return version;
    const block = Buffer.alloc(SECTOR);
    this.#synced.subarray(sector * SECTOR, (sector + 1) * SECTOR).copy(block);
    return block;
  }

  #push(sector: number, block: Buffer): void {
    const versions = this.#versions.get(sector);
    if (versions === undefined) this.#versions.set(sector, [block]);
    else versions.push(block);
  }
}

/** The first, the last, or one in between of `count` states; the luckier, the later. */
function pickIndex(count: number, luck: number, random: () => number): number {
  if (random() < 0.3) return Math.floor(random() * count);
  return random() < luck ? count - 1 : 0;
}

/** The disk as a trace goes on. */
export class Disk {
  readonly #folder: string;
  readonly #files = new Map<string, DiskFile>();
  /** Made since the folder was synced. */
  readonly #fresh = new Set<string>();
  /** Removed since the folder was synced: they may be back. */
  readonly #gone = new Map<string, DiskFile>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  apply(op: FileOp): void {
    switch (op.type) {
      case "create":
        if (this.#files.has(op.file)) return;
        this.#files.set(op.file, new DiskFile());
        this.#fresh.add(op.file);
        return;
      case "remove": {
        const file = this.#files.get(op.file);
        this.#files.delete(op.file);
        if (file !== undefined && !this.#fresh.delete(op.file)) this.#gone.set(op.file, file);
        return;
      }
      case "write":
        this.#files.get(op.file)?.write(op.at, op.bytes);
        return;
      case "truncate":
        this.#files.get(op.file)?.truncate(op.size);
        return;
      case "sync":
        if (op.file === this.#folder) {
          this.#fresh.clear();
          this.#gone.clear();
        } else this.#files.get(op.file)?.sync();
        return;
    }
  }

  get loose(): number {
    return [...this.#files.values()].reduce((sum, file) => sum + file.loose, 0);
  }

  /** What somebody finds after a power loss at this moment. */
  image(random: () => number): Map<string, Buffer> {
    const found = new Map<string, Buffer>();
    for (const [name, file] of this.#gone) if (random() < 0.5) found.set(name, file.image(random));
    for (const [name, file] of this.#files) {
      if (this.#fresh.has(name) && random() < 0.5) continue;
      found.set(name, file.image(random));
    }
    return found;
  }
}
