/**
 * Events by key where batches do not tell their keys: each partition is walked, from the end that is asked for, so many
 * batches at a time, until there is enough.
 */
import type { Seq, StoredEvent } from "../../../model/event.js";
import type { HistoryOptions } from "../../../ports/log.js";
import { type BatchCursor, MAX_SPAN } from "../../batch-codec.js";
import type { Connection } from "../connection/connection.js";
import type { Place } from "../events/event-lookup.js";
import { type BatchDocument, BYTES, storedEvents } from "./batch-document.js";
import { BATCHES_AT_ONCE, firstOf } from "./keys.js";
import type { BatchLookup } from "./lookup.js";

/** Seqs in (after, through], and from which end. */
interface Stretch {
  readonly after: Seq;
  readonly through: Seq;
  readonly newestFirst: boolean;
}

export class KeyWalk {
  readonly #connection: Connection;
  readonly #lookup: BatchLookup;

  constructor(connection: Connection, lookup: BatchLookup) {
    this.#connection = connection;
    this.#lookup = lookup;
  }

  async latest(topic: string, keys: readonly string[]): Promise<ReadonlyMap<string, StoredEvent>> {
    const latest = new Map<string, StoredEvent>();
    if (keys.length === 0) return latest;
    for (const partition of await this.#partitions(topic)) {
      const missing = new Set(keys);
      for await (const event of this.#events({ topic, partition }, WHOLE_BACKWARD, missing)) {
        const key = event.key as string;
        if (!missing.delete(key)) continue;
        // Of partitions that have it at the same seq, the last counts.
        if (event.seq >= (latest.get(key)?.seq ?? 0)) latest.set(key, event);
        if (missing.size === 0) break;
      }
    }
    return latest;
  }

  async history(topic: string, key: string, options: HistoryOptions): Promise<readonly StoredEvent[]> {
    const { limit, newestFirst = false, through = Number.MAX_SAFE_INTEGER } = options;
    if (limit < 1) return [];
    const stretch = { after: newestFirst ? 0 : (options.after ?? 0), through, newestFirst };
    const found: StoredEvent[] = [];
    for (const partition of await this.#partitions(topic)) {
      let count = 0;
      for await (const event of this.#events({ topic, partition }, stretch, new Set([key]))) {
        found.push(event);
        if (++count === limit) break;
      }
    }
    return firstOf(found, options);
  }

  async #partitions(topic: string): Promise<readonly number[]> {
    const document = await this.#connection.collections.topics.findOne({ _id: topic });
    return Array.from({ length: document?.partitions ?? 0 }, (_, partition) => partition);
  }

  /** Events of these keys, in order, each once. */
  async *#events(place: Place, whole: Stretch, keys: ReadonlySet<string>): AsyncGenerator<StoredEvent> {
    const direction = whole.newestFirst ? -1 : 1;
    for (let stretch = whole; stretch.after < stretch.through; ) {
      const batches = await this.#batches(place, stretch);
      const { counting } = await this.#lookup.counting(place.topic, batches);
      const events = counting
        .flatMap((batch) => storedEvents(batch, isWanted(stretch, keys)))
        .sort((a, b) => direction * (a.seq - b.seq));
      yield* events;
      const last = batches.at(-1);
      if (last === undefined || batches.length < BATCHES_AT_ONCE) return;
      // What stands in the place of a batch that was cut may reach further than it did.
      stretch = whole.newestFirst
        ? { ...stretch, through: last.first - 1 }
        : { ...stretch, after: Math.max(last.last, events.at(-1)?.seq ?? 0) };
    }
  }

  /** The next batches that hold seqs of the stretch. */
  async #batches(
    { topic, partition }: Place,
    { after, through, newestFirst }: Stretch,
  ): Promise<BatchDocument[]> {
    const first = { $gt: after - MAX_SPAN, $lte: through };
    return await this.#connection.collections.batches
      .find(
        { topic, partition, first, last: { $gt: after } },
        { projection: BYTES, sort: { first: newestFirst ? -1 : 1 }, limit: BATCHES_AT_ONCE },
      )
      .toArray();
  }
}

const WHOLE_BACKWARD: Stretch = { after: 0, through: Number.MAX_SAFE_INTEGER, newestFirst: true };

function isWanted({ after, through }: Stretch, keys: ReadonlySet<string>): (event: BatchCursor) => boolean {
  return (event) => {
    if (event.seq <= after || event.seq > through) return false;
    const key = event.keyBytes?.toString("utf8");
    return key !== undefined && keys.has(key);
  };
}
