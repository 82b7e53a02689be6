/**
 * A store in one SQLite file. One thread writes (and waits for the disk), the event loop reads. Several processes may
 * open the same file; SQLite's own locks keep their transactions apart.
 */
import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { BusError, describeThrown } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { Capabilities, Signal, Store } from "../../ports/store.js";
import { Access } from "./access.js";
import { realFile } from "./backup/real-file.js";
import { Backups, backUp } from "./backup.js";
import { EmbeddedDocuments } from "./documents.js";
import { unavailable } from "./errors.js";
import { EmbeddedGroups } from "./groups.js";
import type { CheckedStretch } from "./log/checker.js";
import { EmbeddedLog } from "./log.js";
import { newTopics } from "./new-topics.js";
import { EmbeddedOutbox } from "./outbox.js";
import { EmbeddedRegistry } from "./registry.js";
import { makeFolder } from "./sync.js";
import { Reader } from "./threads/reader.js";
import { ReaderThread } from "./threads/reader-thread.js";
import { Writer } from "./threads/writer.js";

/** What an answer means: the disk has it, or the operating system has it. */
export type Durability = "sync" | "os";

/** Which file, how safe, how large, and whether others may open it. */
export interface EmbeddedStoreOptions {
  /** The file; it is made, with its folder, if it is missing. */
  readonly path: string;
  /**
   * "sync" (default): an answer means that the disk has it. "os": that the operating system has it; the end of the process
   * loses nothing, a power failure may lose the last moments, and a warning says so.
   */
  readonly durability?: Durability;
  /** The file grows no larger than this; beyond it writes fail with STORE_FULL until something is removed. */
  readonly maxBytes?: number;
  /**
   * No other process, and no other store object, has the file open while this one does; the others get STORE_LOCKED. Appends
   * that come alone are then answered in about half the time: see docs/stores/embedded.md. Default false.
   */
  readonly exclusive?: boolean;
  /** How long to wait for another process that holds the file before STORE_LOCKED. Default 5,000. */
  readonly busyTimeoutMs?: number;
  /** Default: `process.emitWarning`. */
  readonly onWarning?: (message: string) => void;
}

/** A store in one SQLite file, with what only a file can do: a copy, and a look at all of it. */
export interface EmbeddedStore extends Store {
  readonly path: string;
  readonly durability: Durability;
  /**
   * Writes a copy of the present state to `path` while the store goes on. The file appears whole or not at all: when the signal
   * aborts, or the store is closed, it is given up at once (ABORTED), and nothing of it stays.
   */
  backup(path: string, o?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * Reads all of the file and says what is wrong with it: pages, batches, and entries of indexes without which an event is
   * not found by its id or key. Nothing is changed; reads and writes go on meanwhile.
   */
  check(o?: { onProgress?: (checked: number, total: number) => void }): Promise<CheckReport>;
}

/** What a look at the whole file found. */
export interface CheckReport {
  readonly events: number;
  /** In words; empty: all is well. */
  readonly problems: readonly string[];
}

/**
 * A durable store on one machine with nothing to install.
 *
 * @example
 * const bus = await createBus({ store: embeddedStore({ path: "data/bus.db" }) });
 */
export function embeddedStore(options: EmbeddedStoreOptions): EmbeddedStore {
  return new SqliteStore(options);
}

const BUSY_TIMEOUT_MS = 5_000;
const MAX_RESTART_WAIT_MS = 2_000;
/** How often to look for what other processes wrote, while somebody listens. */
const POLL_MS = 20;

class SqliteStore implements EmbeddedStore {
  readonly name: string;
  readonly path: string;
  readonly durability: Durability;
  readonly capabilities: Capabilities;
  readonly log: EmbeddedLog;
  readonly groups: EmbeddedGroups;
  readonly documents: EmbeddedDocuments;
  readonly outbox: EmbeddedOutbox;
  readonly registry: EmbeddedRegistry;
  readonly #options: EmbeddedStoreOptions;
  readonly #access: Access;
  /** What `path` leads to, since it was opened. */
  #file: string;
  #users = 0;
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #filling: Promise<void> = Promise.resolve();
  #restarting: Promise<void> = Promise.resolve();
  #backups = new Backups();
  /** The newest topic that listeners were told of, by its number in the file. */
  #lastTopic: number | undefined;

  constructor(options: EmbeddedStoreOptions) {
    checkOptions(options);
    this.#options = options;
    this.path = resolve(options.path);
    this.#file = this.path;
    this.durability = options.durability ?? "sync";
    this.name = `embedded ${this.path}${this.durability === "os" ? " (not synced)" : ""}`;
    this.capabilities = Object.freeze({
      durable: true,
      sharedByProcesses: !options.exclusive,
      transactions: true,
      transactsInOrder: true,
      changeFeed: false,
      defaultPartitions: 1,
    });
    this.#access = new Access(this.path);
    this.log = new EmbeddedLog(this.#access);
    this.groups = new EmbeddedGroups(this.#access);
    this.documents = new EmbeddedDocuments(this.#access);
    this.outbox = new EmbeddedOutbox(this.#access);
    this.registry = new EmbeddedRegistry(this.#access, (topic) => this.log.fillKeys(topic));
  }

  /** Several buses of one process may share it: each opens it and closes it, and the last one out ends it. */
  async open(): Promise<void> {
    this.#users++;
    this.#opening ??= this.#begin();
    await this.#opening;
  }

  #begin(): Promise<void> {
    const opening = this.#openAfter(this.#closing);
    opening.catch(() => {
      if (this.#opening !== opening) return;
      this.#opening = undefined;
      this.#users = 0;
    });
    return opening;
  }

  async #openAfter(closing: Promise<void> | undefined): Promise<void> {
    await closing;
    await this.#open();
  }

  watch(listener: (signal: Signal) => void): () => void {
    return this.#access.wake.listen(listener);
  }

  async close(): Promise<void> {
    if (this.#users === 0 || --this.#users > 0) return this.#closing;
    this.#closing = this.#close(this.#opening);
    this.#opening = undefined;
    return this.#closing;
  }

  async backup(path: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const target = resolve(path);
    await this.#backups.run((over) => this.#inOwnThread((thread) => backUp(thread, target, over)), signal);
  }

  check(o: { onProgress?: (checked: number, total: number) => void } = {}): Promise<CheckReport> {
    return this.#inOwnThread(async (thread) => {
      const problems = await thread.call("checkStructure", null);
      const { stretches, events: total } = await thread.call("checkPartitions", null);
      let events = 0;
      for (const { part, keyedTopic } of stretches) {
        for (let after: Seq | null = 0; after !== null; ) {
          const checked: CheckedStretch = await thread.call("checkNext", { part, keyedTopic, after });
          after = checked.through;
          events += checked.events;
          problems.push(...checked.problems);
          o.onProgress?.(events, Math.max(events, total));
        }
      }
      return { events, problems };
    });
  }

  /** For work that takes long: queries go on in the usual thread. */
  async #inOwnThread<T>(work: (thread: ReaderThread) => Promise<T>): Promise<T> {
    await this.#access.opened.writer.applied();
    const thread = new ReaderThread({ path: this.#file, busyTimeoutMs: this.#busyTimeoutMs });
    try {
      return await work(thread);
    } finally {
      await thread.close();
    }
  }

  get #busyTimeoutMs(): number {
    return this.#options.busyTimeoutMs ?? BUSY_TIMEOUT_MS;
  }

  async #open(): Promise<void> {
    await this.#prepareFolder();
    this.#file = await realFile(this.path);
    const path = this.#file;
    const busyTimeoutMs = this.#busyTimeoutMs;
    const writer = await this.#openWriter();
    try {
      const reader = new Reader(path, busyTimeoutMs);
      this.#access.file = { writer, reader, readerThread: new ReaderThread({ path, busyTimeoutMs }) };
      this.#backups = new Backups();
      this.#lastTopic = undefined;
    } catch (error) {
      await writer.close();
      throw error;
    }
    if (this.durability === "os") {
      this.#warn(`the store ${path} is not synced: a power failure may lose events that were acknowledged`);
    }
    this.#filling = this.#finishKeys();
  }

  #openWriter(): Promise<Writer> {
    const { durability } = this;
    const path = this.#file;
    const { maxBytes, exclusive = false } = this.#options;
    return Writer.open(
      { path, durability, busyTimeoutMs: this.#busyTimeoutMs, maxBytes, exclusive, pollMs: POLL_MS },
      {
        onForeign: () => void this.#tellOfOthers(),
        onWarning: (message) => this.#warn(message),
        onLost: (cause) => {
          this.#warn(`the writing thread of ${path} ended and is started again: ${describeThrown(cause)}`);
          this.#restarting = this.#restartWriter();
        },
      },
    );
  }

  /** Another process has written. */
  async #tellOfOthers(): Promise<void> {
    const { wake } = this.#access;
    if (!wake.isWatched) return;
    // If the file cannot be read now, whoever is told to look will be told why.
    const found = await this.#access
      .read((connection) => newTopics(connection, this.#lastTopic))
      .catch(() => undefined);
    this.#lastTopic = found?.last;
    for (const topic of found?.names ?? []) wake.send({ type: "topic", topic });
    wake.send(found?.names === undefined ? { type: "any" } : { type: "any", butTopics: true });
  }

  /** Until then, writes fail with STORE_UNAVAILABLE and may be repeated (P15). */
  async #restartWriter(): Promise<void> {
    for (let waitMs = 20; this.#users > 0; waitMs = Math.min(waitMs * 2, MAX_RESTART_WAIT_MS)) {
      try {
        const writer = await this.#openWriter();
        const { file } = this.#access;
        if (file !== undefined) this.#access.file = { ...file, writer };
        else await writer.close();
        return;
      } catch (error) {
        this.#warn(`the writing thread of ${this.path} cannot be started: ${describeThrown(error)}`);
        await wait(waitMs);
      }
    }
  }

  async #close(opening: Promise<void> | undefined): Promise<void> {
    await opening?.catch(() => {});
    await this.#restarting;
    await this.#backups.end();
    const file = this.#access.file;
    await file?.writer.close();
    await this.#filling;
    file?.reader.close();
    await file?.readerThread.close();
    this.#access.file = undefined;
    this.#access.wake.clear();
  }

  /** Goes on with indexes by key that an earlier process left unfinished. Until then reads by key walk. */
  async #finishKeys(): Promise<void> {
    try {
      for (const topic of await this.log.unfinishedKeys()) await this.log.fillKeys(topic);
    } catch (error) {
      if (!BusError.is(error, "CLOSED"))
        this.#warn(`an index by key is still unfinished: ${describeThrown(error)}`);
    }
  }

  async #prepareFolder(): Promise<void> {
    const { path } = this;
    const there = await stat(path).catch(() => undefined);
    if (there?.isDirectory()) {
      throw new BusError(
        "STORE_UNAVAILABLE",
        `${path} is a folder; give the path of a file, such as ${path}/bus.db`,
        {
          retryable: false,
          details: { path },
        },
      );
    }
    try {
      await makeFolder(dirname(path));
    } catch (error) {
      throw unavailable(`the folder of ${path} cannot be made`, error);
    }
  }

  #warn(message: string): void {
    if (this.#options.onWarning !== undefined) this.#options.onWarning(message);
    else process.emitWarning(message, "PrometheanWarning");
  }
}

const OPTIONS = namesOf<EmbeddedStoreOptions>({
  path: true,
  durability: true,
  maxBytes: true,
  exclusive: true,
  busyTimeoutMs: true,
  onWarning: true,
});

/** Taken for a path, it would be a folder of that name. */
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i;

function checkOptions(options: EmbeddedStoreOptions): void {
  const { path, maxBytes, durability, exclusive, busyTimeoutMs, onWarning } = options ?? {};
  if (typeof path === "string" && ADDRESS.test(path)) {
    throw new BusError(
      "INVALID_OPTION",
      "embeddedStore needs the path of a file, not an address; for MongoDB there is mongoStore({ url })",
    );
  }
  if (typeof path !== "string" || path === "" || /^:|^file:|\0/.test(path)) {
    throw new BusError(
      "INVALID_OPTION",
      `embeddedStore needs the path of a file, not ${JSON.stringify(path)}`,
    );
  }
  checkOptionNames("embeddedStore", options, OPTIONS);
  if (maxBytes !== undefined && !(maxBytes >= 1_048_576)) {
    throw new BusError("INVALID_OPTION", `maxBytes is ${maxBytes}; a store needs at least 1,048,576`);
  }
  if (durability !== undefined && durability !== "sync" && durability !== "os")
    throw new BusError("INVALID_OPTION", `durability is "sync" or "os", not ${JSON.stringify(durability)}`);
  if (exclusive !== undefined && typeof exclusive !== "boolean")
    throw new BusError("INVALID_OPTION", "exclusive is true or false");
  if (
    busyTimeoutMs !== undefined &&
    !(Number.isInteger(busyTimeoutMs) && busyTimeoutMs >= 0 && busyTimeoutMs < 2 ** 31)
  )
    throw new BusError("INVALID_OPTION", "busyTimeoutMs is a whole number of milliseconds");
  if (onWarning !== undefined && typeof onWarning !== "function")
    throw new BusError("INVALID_OPTION", "onWarning is a function");
}
