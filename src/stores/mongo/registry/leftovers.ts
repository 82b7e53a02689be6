/**
 * What is left of topics that were removed: events that were appended just before keep their places for a while (trust.ts), and no retention
 * comes by later. Every listing of topics would walk over them. So a topic that has some is marked, and whoever lists topics takes them
 * away once in a while, behind the listing, until there are none.
 */
import type { Log } from "../../../ports/log.js";
import type { TopicDocument } from "../collections.js";
import type { Connection } from "../connection/connection.js";
import { KEPT_SECONDS } from "../events/trust.js";

/** Nothing more is free to go before that. */
const AGAIN_MS = (KEPT_SECONDS + 1) * 1_000;

const LEFT = { gone: true } as const;

export class Leftovers {
  readonly #connection: Connection;
  readonly #log: Pick<Log, "headsOf" | "trim">;
  #notBeforeMs = 0;

  constructor(connection: Connection, log: Pick<Log, "headsOf" | "trim">) {
    this.#connection = connection;
    this.#log = log;
  }

  /** What is written down of a topic that is removed now. */
  async markFor(topic: string): Promise<Pick<TopicDocument, "unswept">> {
    if (!(await this.#areThere(topic))) return {};
    this.#notBeforeMs = performance.now() + AGAIN_MS;
    return { unswept: true };
  }

  async #areThere(topic: string): Promise<boolean> {
    const { events, batches } = this.#connection.collections;
    const options = { projection: { _id: 1 } };
    const found = await Promise.all([
      events.findOne({ topic, ...LEFT, seq: { $gt: 1 } }, options),
      batches.findOne({ topic, ...LEFT, first: { $gt: 1 } }, options),
    ]);
    return found.some((document) => document !== null);
  }

  /** Of these topics, some of which are marked. Closing the store waits for what is under way, which then ends soon. */
  sweep(topics: readonly TopicDocument[]): void {
    const marked = topics.filter(({ unswept, removedAt }) => unswept && removedAt !== undefined);
    if (marked.length === 0 || performance.now() < this.#notBeforeMs) return;
    this.#notBeforeMs = performance.now() + AGAIN_MS;
    // Whoever may not write leaves it to others; whoever was interrupted, to the next listing.
    this.#connection.gate.write(() => this.#sweepAll(marked)).catch(() => undefined);
  }

  async #sweepAll(marked: readonly TopicDocument[]): Promise<void> {
    const heads = await this.#log.headsOf(marked.map(({ _id }) => _id));
    for (const { _id, removedAt } of marked) {
      for (const { partition, low } of heads.get(_id) ?? []) await this.#log.trim(_id, partition, low - 1);
      if (await this.#areThere(_id)) continue;
      const same = { _id, removedAt: removedAt as number };
      await this.#connection.collections.topics.updateOne(same, { $unset: { unswept: "" } });
    }
  }
}
