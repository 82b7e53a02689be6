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
  /** Of the whole file, or of what one write has put there. */
  | { readonly type: "sync"; readonly file: string; readonly from?: number; readonly to?: number };

/** Reads a trace of `strace -f -y -xx`; calls that failed are left out. */
export function parseTrace(text: string): FileOp[] {
  const ops: FileOp[] = [];
  const synced: SyncedFiles = new Set();
  const push = (op: FileOp | undefined): void => {
    if (op !== undefined) ops.push(op);
  };
  /** By thread: a call that strace shows in two parts. */
  const begun = new Map<string, Call>();
  for (const line of text.split("\n")) {
    const [, thread = "", rest = ""] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    if (rest.startsWith("<... ")) {
      const call = begun.get(thread);
      begun.delete(thread);
      if (call !== undefined && /= \d+$/.test(rest)) push(atEnd(call, synced));
      continue;
    }
    const isUnfinished = rest.endsWith("<unfinished ...>");
    if (!isUnfinished && /\) += -1 /.test(rest)) continue;
    const call = readCall(rest);
    if (call === undefined) continue;
    push(atStart(call, synced));
    if (isUnfinished) begun.set(thread, call);
    else push(atEnd(call, synced));
  }
  return ops;
}

/** Those that were opened so that each write is a sync of what it writes. */
type SyncedFiles = Set<string>;

interface Call {
  readonly name: string;
  readonly args: string;
  /** Of the descriptor that comes first. */
  readonly file: string;
}

function readCall(text: string): Call | undefined {
  const [, name = "", args = ""] = /^(\w+)\((.*)(?:\)\s+=|<unfinished)/s.exec(text) ?? [];
  if (name === "") return undefined;
  return { name, args, file: unhex(/^\d+<([^>]*)>/.exec(args)?.[1] ?? "").toString() };
}

function writeOf({ args, file }: Call): Extract<FileOp, { type: "write" }> {
  const [, hex = "", at = "-1"] = /, "([^"]*)", \d+(?:, (\d+))?/.exec(args) ?? [];
  return { type: "write", file, at: Number(at), bytes: unhex(hex) };
}

/** What may be on disk once a call has begun. */
function atStart(call: Call, synced: SyncedFiles): FileOp | undefined {
  const { name, args, file } = call;
  switch (name) {
    case "pwrite64":
    case "write":
      return writeOf(call);
    case "ftruncate":
      return { type: "truncate", file, size: Number(/, (\d+)/.exec(args)?.[1]) };
    case "unlink":
      return { type: "remove", file: quoted(args) };
    case "openat": {
      const opened = quoted(args);
      if (args.includes("O_DSYNC")) synced.add(opened);
      else if (!args.includes("O_RDONLY")) synced.delete(opened);
      return args.includes("O_CREAT") ? { type: "create", file: opened } : undefined;
    }
    default:
      return undefined;
  }
}

/** What is on disk for certain once a call is over. */
function atEnd(call: Call, synced: SyncedFiles): FileOp | undefined {
  const { name, file } = call;
  if (name === "fsync" || name === "fdatasync") return { type: "sync", file };
  if (name !== "pwrite64" || !synced.has(file)) return undefined;
  const { at, bytes } = writeOf(call);
  return { type: "sync", file, from: at, to: at + bytes.length };
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

  sync(from = 0, to = Number.POSITIVE_INFINITY): void {
    const whole = Buffer.alloc(this.#size);
    this.#synced.copy(whole);
    for (const [sector, versions] of this.#versions) {
      if ((sector + 1) * SECTOR <= from || sector * SECTOR >= to) continue;
      versions.at(-1)?.copy(whole, sector * SECTOR);
      this.#versions.delete(sector);
    }
    this.#synced = whole;
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
        } else this.#files.get(op.file)?.sync(op.from, op.to);
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
