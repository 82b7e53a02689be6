/** Looks whether anything is new: often while things happen, seldom while nothing does. */
import type { Connection } from "./connection.js";

const SHORTEST_WAIT_MS = 15;
const LONGEST_WAIT_MS = 500;
const GROWTH = 1.5;

export class Poller {
  readonly #connection: Connection;
  readonly #onNews: () => void;
  readonly #done: Promise<void>;
  #stopped = false;
  #wakeUp: () => void = () => undefined;

  constructor(connection: Connection, onNews: () => void) {
    this.#connection = connection;
    this.#onNews = onNews;
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wakeUp();
    await this.#done;
  }

  async #run(): Promise<void> {
    let seen: string | undefined;
    let waitMs = SHORTEST_WAIT_MS;
    while (!this.#stopped) {
      // A server that does not answer is no news; the calls of others say so.
      const now = await this.#look().catch(() => seen);
      if (now !== seen && !this.#stopped) this.#onNews();
      waitMs = now !== seen ? SHORTEST_WAIT_MS : Math.min(LONGEST_WAIT_MS, waitMs * GROWTH);
      seen = now;
      if (!this.#stopped) await this.#wait(waitMs);
    }
  }

  /** Something that differs whenever an event was added, a topic was defined, or a group changed. */
  async #look(): Promise<string> {
    const { events, batches, topics, changes } = this.#connection.collections;
    const newest = { sort: { $natural: -1 as const }, projection: { _id: 1 as const } };
    const [event, batch, topic, change] = await Promise.all([
      events.findOne({}, newest),
      batches.findOne({}, newest),
      topics.findOne({}, newest),
      changes.findOne({}, { projection: { version: 1 } }),
    ]);
    return JSON.stringify([event?._id, batch?._id, topic?._id, change?.version]);
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
