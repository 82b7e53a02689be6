/** What is measured beside each other: systems that take events, answer when they have them, and hand them out again. */

export interface System {
  readonly name: string;
  /** What has happened before a publish is answered. */
  readonly durability: string;
  /** Those of one place share a process, and the servers behind them; by itself each has its own. */
  readonly place?: string;
  /** An empty log, and a line to it. Servers behind it start when first needed. */
  open(): Promise<Line>;
  /** Ends its servers. */
  close?(): Promise<void>;
}

export interface Line {
  /** Sends event n; resolves when it is answered. */
  publish(n: number): Promise<unknown>;
  /**
   * The consumer of a new group, from either end of the log: tells of each event, settles it, one by one. `settled` resolves
   * when the system has been told of everything that was settled.
   */
  consume?(
    onEvent: () => void,
    from: "earliest" | "latest",
    group: string,
  ): Promise<{ settled(): Promise<unknown> }>;
  close(): Promise<void>;
}

/** Runs it at the first call, and only then. */
export function once<T>(make: () => Promise<T>): { get(): Promise<T>; made(): Promise<T> | undefined } {
  let made: Promise<T> | undefined;
  return {
    get: () => {
      made ??= make();
      return made;
    },
    made: () => made,
  };
}

/** While one write is under way the next ones gather, as in our own writer. */
export class GroupCommit {
  readonly #write: (events: readonly number[]) => Promise<unknown>;
  readonly #most: number;
  #queue: { readonly n: number; readonly done: () => void; readonly fail: (error: unknown) => void }[] = [];
  #running = false;

  constructor(most: number, write: (events: readonly number[]) => Promise<unknown>) {
    this.#most = most;
    this.#write = write;
  }

  add(n: number): Promise<void> {
    return new Promise((done, fail) => {
      this.#queue.push({ n, done, fail });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    await null;
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, this.#most);
      try {
        await this.#write(batch.map(({ n }) => n));
        for (const { done } of batch) done();
      } catch (error) {
        for (const { fail } of batch) fail(error);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#running = false;
  }
}
