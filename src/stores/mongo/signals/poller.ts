/**
 * Looks whether anything is new: often while things happen, seldom while nothing does.
 *
 * Beside a change stream it tells only of what the stream does not tell of soon: on a sharded cluster, a stream waits for news
 * of every shard, which one that does nothing else gives every ten seconds.
 */
import type { Seq } from "../../../model/event.js";
import type { Collections } from "../collections.js";
import type { Place } from "../events/event-lookup.js";

const SHORTEST_WAIT_MS = 15;
const LONGEST_WAIT_MS = 500;
const GROWTH = 1.5;
/** How long news may be under way by other means. */
const GRACE_MS = 30;
/**
 * Of the newest entries of a collection, so many are looked at: what this process adds is told at once, and must not hide what others
 * added before it.
 */
const LOOKED_AT = 64;

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
  /** Of each collection of events, the newest first. */
  readonly ends: readonly (readonly End[])[];
  readonly rest: string;
}

export class Poller {
  readonly #collections: Collections;
  readonly #options: PollerOptions;
  readonly #done: Promise<void>;
  #stopped = false;
  #wakeUp: () => void = () => undefined;

  constructor(collections: Collections, options: PollerOptions) {
    this.#collections = collections;
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
    const { events, batches, topics, changes } = this.#collections;
    const newestFirst = { sort: { $natural: -1 as const } };
    const some = { ...newestFirst, limit: this.#options.isTold === undefined ? 1 : LOOKED_AT };
    const place = { _id: 0, topic: 1, partition: 1 } as const;
    const [added, addedBatches, topic, change] = await Promise.all([
      events.find({}, { ...some, projection: { ...place, seq: 1 } }).toArray(),
      batches.find({}, { ...some, projection: { ...place, last: 1 } }).toArray(),
      topics.findOne({}, { ...newestFirst, projection: { _id: 1 } }),
      changes.findOne({}, { projection: { version: 1 } }),
    ]);
    return {
      ends: [added.map((event) => endAt(event, event.seq)), addedBatches.map((b) => endAt(b, b.last))],
      rest: JSON.stringify([topic?._id, change?.version]),
    };
  }

  async #isNews(now: Newest, seen: Newest | undefined): Promise<boolean> {
    if (now.rest !== seen?.rest) return true;
    const added = now.ends.flatMap((ends, i) => before(ends, seen.ends[i]?.[0]));
    const isUntold = (end: End): boolean => !this.#options.isTold?.(end);
    if (!added.some(isUntold)) return false;
    if (this.#options.isTold !== undefined) await this.#wait(GRACE_MS);
    return added.some(isUntold);
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

/** Those that stand before this one. */
function before(ends: readonly End[], known: End | undefined): readonly End[] {
  const at = known === undefined ? -1 : ends.findIndex((end) => isSame(end, known));
  return at < 0 ? ends : ends.slice(0, at);
}

function isSame(a: End, b: End): boolean {
  return a.topic === b.topic && a.partition === b.partition && a.seq === b.seq;
}
