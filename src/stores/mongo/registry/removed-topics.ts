/**
 * Which topics are there, and which were removed. One that was removed keeps its document, with a mark: how much had been written to it,
 * the sum of its heads. Heads only grow, so that it is gone for as long as that is all (P2); nobody who appends has to look.
 *
 * To ask for the heads of all that were ever removed would take long. Of a topic that is gone, there is nothing but the traces of what
 * was trimmed: only where there is more the heads are asked for, and the mark of one that has been written to since is taken away.
 */
import type { Seq } from "../../../model/event.js";
import type { Log } from "../../../ports/log.js";
import type { TopicDocument } from "../collections.js";
import type { Connection } from "../connection/connection.js";

/** What is no trace of a trim, in either layout. */
const AN_EVENT = { to: { $exists: false }, gone: { $exists: false } };
const A_BATCH = { gone: { $exists: false } };
/** Events that are looked at in one go: those of a topic are met one after the other. */
const AT_ONCE = 100;

export class RemovedTopics {
  readonly #connection: Connection;
  readonly #log: Pick<Log, "headsOf">;

  constructor(connection: Connection, log: Pick<Log, "headsOf">) {
    this.#connection = connection;
    this.#log = log;
  }

  async isThere(topic: TopicDocument): Promise<boolean> {
    return topic.removedAt === undefined || (await this.#backAmong([topic])).size > 0;
  }

  /** Before events go: a listing goes by what is there, and would take one that has come back for gone. */
  async unmarkIfBack(topic: string): Promise<void> {
    const { topics } = this.#connection.collections;
    const marked = await topics.findOne({ _id: topic, removedAt: { $exists: true } });
    if (marked !== null) await this.#backAmong([marked]);
  }

  /** Without those that were removed. */
  async present(topics: readonly TopicDocument[]): Promise<readonly TopicDocument[]> {
    let marked = topics.filter(({ removedAt }) => removedAt !== undefined);
    const back = new Set<string>();
    while (marked.length > 0) {
      const written = await this.#haveEvents(marked.map(({ _id }) => _id));
      if (written.size === 0) break;
      const suspects = marked.filter(({ _id }) => written.has(_id));
      for (const name of await this.#backAmong(suspects)) back.add(name);
      marked = marked.filter(({ _id }) => !written.has(_id));
    }
    return topics.filter(({ _id, removedAt }) => removedAt === undefined || back.has(_id));
  }

  /** How much was ever written to a topic. */
  async written(topic: string): Promise<number> {
    return sumOf((await this.#log.headsOf([topic])).get(topic)?.map(({ head }) => head) ?? []);
  }

  /** Some of these topics, if any have events. */
  async #haveEvents(names: readonly string[]): Promise<ReadonlySet<string>> {
    const { events, batches } = this.#connection.collections;
    const topic = { $in: names };
    const options = { projection: { _id: 0, topic: 1 }, limit: AT_ONCE };
    const found = await Promise.all([
      events.find({ topic, ...AN_EVENT }, options).toArray(),
      batches.find({ topic, ...A_BATCH }, options).toArray(),
    ]);
    return new Set(found.flat().map((document) => document.topic));
  }

  async #backAmong(marked: readonly TopicDocument[]): Promise<ReadonlySet<string>> {
    const heads = await this.#log.headsOf(marked.map(({ _id }) => _id));
    const back = marked.filter(
      ({ _id, removedAt }) => sumOf((heads.get(_id) ?? []).map(({ head }) => head)) !== removedAt,
    );
    for (const topic of back) await this.#unmark(topic);
    return new Set(back.map(({ _id }) => _id));
  }

  /** Whoever may not write leaves it to others. */
  async #unmark({ _id, removedAt }: TopicDocument): Promise<void> {
    const same = { _id, removedAt: removedAt as number };
    await this.#connection.collections.topics
      .updateOne(same, { $unset: { removedAt: "", unswept: "" } })
      .catch(() => undefined);
  }
}

export function sumOf(heads: readonly Seq[]): number {
  return heads.reduce((sum, head) => sum + head, 0);
}
