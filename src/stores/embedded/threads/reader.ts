/**
 * The reading connection of the event loop's thread. Reads are short: bounded pages, by index. They never wait inside
 * SQLite: where the file is locked for a moment (another process recovers it), the wait is the event loop's.
 */
import { setTimeout as wait } from "node:timers/promises";
import { BusError } from "../../../model/errors.js";
import { busError, isBusy } from "../errors.js";
import { Connection } from "../sqlite.js";

const RETRY_MS = 5;

export class Reader {
  readonly #path: string;
  readonly #patienceMs: number;
  readonly #connection: Connection;
  #isClosed = false;

  constructor(path: string, patienceMs: number) {
    this.#path = path;
    this.#patienceMs = patienceMs;
    try {
      this.#connection = new Connection(path, { busyTimeoutMs: 0 });
      this.#connection.exec("PRAGMA query_only = 1");
    } catch (error) {
      throw busError(error, path);
    }
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** Runs `work` on one state of the file. */
  async read<T>(work: (connection: Connection) => T): Promise<T> {
    const untilMs = performance.now() + this.#patienceMs;
    for (;;) {
      if (this.#isClosed) throw new BusError("CLOSED", `the embedded store ${this.#path} is closed`);
      try {
        return this.#connection.snapshot(() => work(this.#connection));
      } catch (error) {
        if (!isBusy(error) || performance.now() > untilMs) throw busError(error, this.#path);
      }
      await wait(RETRY_MS);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#connection.close();
  }
}
