/**
 * Looks whether anything is new: often while things happen, seldom while nothing does.
 *
 * Beside a change stream it tells only of what the stream does not tell of soon: on a sharded cluster, a stream waits for news
 * of every shard, which one that does nothing else gives every ten seconds.
 */
import type { Seq } from "../../model/event.js";
import type { Connection } from "./connection.js";
import type { Place } from "./event-lookup.js";

const SHORTEST_WAIT_MS = 15;
const LONGEST_WAIT_MS = 500;
const GROWTH = 1.5;
/** How long news may be under way by other means. */
const GRACE_MS = 30;

/** Where a partition ends. */
export interface End extends Place {
  readonly seq: Seq;
}

export interface PollerOptions {
  readonly onNews: () => void;
  /** Whether those who listen have heard of it. Without it, nobody has heard of anything. */
  readonly isTold?: (end: End) => boolean;
}

/** Something that differs whenever an event was added, a topic was defined, or a group changed. */
interface Newest {
  readonly ends: readonly (End | null)[];
  readonly rest: string;
}

export class Poller {
  readonly #connection: Connection;
  readonly #options: PollerOptions;
  readonly #done: Promise<void>;
  #stopped = false;
  #wakeUp: () => void = () => undefined;

  constructor(connection: Connection, options: PollerOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wakeUp();
    await this.#done;
  }

  async #run(): Promise<void> {
    let seen: Newest | undefined;
    let waitMs = SHORTEST_WAIT_MS;
    while (!this.#stopped) {
      // A server that does not answer is no news; the calls of others say so.
      const now = await this.#look().catch(() => seen);
      const isNews = now !== seen && now !== undefined && (await this.#isNews(now, seen));
      if (isNews && !this.#stopped) this.#options.onNews();
      waitMs = isNews ? SHORTEST_WAIT_MS : Math.min(LONGEST_WAIT_MS, waitMs * GROWTH);
      seen = now;
      await this.#wait(waitMs);
    }
  }

  async #look(): Promise<Newest> {
    const { events, batches, topics, changes } = this.#connection.collections;
    const last = { sort: { $natural: -1 as const } };
    const place = { topic: 1, partition: 1 } as const;
    const [event, batch, topic, change] = await Promise.all([
      events.findOne({}, { ...last, projection: { ...place, seq: 1 } }),
      batches.findOne({}, { ...last, projection: { ...place, last: 1 } }),
      topics.findOne({}, { ...last, projection: { _id: 1 } }),
      changes.findOne({}, { projection: { version: 1 } }),
    ]);
    return {
      ends: [event && endAt(event, event.seq), batch && endAt(batch, batch.last)],
      rest: JSON.stringify([topic?._id, change?.version]),
    };
  }

  async #isNews(now: Newest, seen: Newest | undefined): Promise<boolean> {
    if (now.rest !== seen?.rest) return true;
    const isNew = (end: End | null, i: number): boolean => !isSame(end, seen.ends[i]);
    const { isTold } = this.#options;
    if (isTold === undefined) return now.ends.some(isNew);
    const isUntold = (end: End | null, i: number): boolean => isNew(end, i) && end !== null && !isTold(end);
    if (!now.ends.some(isUntold)) return false;
    await this.#wait(GRACE_MS);
    return now.ends.some(isUntold);
  }

  async #wait(ms: number): Promise<void> {
    if (this.#stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function endAt({ topic, partition }: Place, seq: Seq): End {
  return { topic, partition, seq };
}

function isSame(a: End | null | undefined, b: End | null | undefined): boolean {
  return a?.topic === b?.topic && a?.partition === b?.partition && a?.seq === b?.seq;
}
