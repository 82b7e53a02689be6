/** The log in MongoDB: each call goes to where the events of its topic are kept. */
import type { EventDraft, Seq, StoredEvent } from "../../model/event.js";
import type { Fence } from "../../ports/groups.js";
import type { AppendResult, HistoryOptions, Log, Page, PartitionHead, ReadOptions } from "../../ports/log.js";
import { BatchAhead } from "../batch-ahead.js";
import { headsOfOne } from "../heads-of-one.js";
import { WrittenBodies } from "../written-bodies.js";
import { BatchLog } from "./batches/log.js";
import { AskedTogether } from "./connection/asked-together.js";
import type { Connection } from "./connection/connection.js";
import type { LayoutLog } from "./events/layout-log.js";
import { MongoLog, type MongoLogOptions } from "./events/log.js";
import { KnownTraits, type TopicTraits } from "./events/topic-traits.js";
import { RemovedTopics } from "./registry/removed-topics.js";

type HeadsByTopic = ReadonlyMap<string, readonly PartitionHead[]>;

export class LogByLayout implements Log {
  readonly #connection: Connection;
  readonly #traits: KnownTraits;
  readonly #documents: MongoLog;
  readonly #batches: BatchLog;
  readonly #removed: RemovedTopics;
  readonly #bodies = new WrittenBodies();
  readonly #heads: AskedTogether<string, HeadsByTopic>;

  constructor(connection: Connection, options: Omit<MongoLogOptions, "elsewhere">) {
    this.#connection = connection;
    this.#traits = new KnownTraits(connection);
    this.#removed = new RemovedTopics(connection, this);
    this.#documents = new MongoLog(connection, {
      ...options,
      elsewhere: (ids, session) => this.#batches.retained(ids, session),
    });
    this.#batches = new BatchLog(connection, {
      signal: options.signal,
      elsewhere: this.#documents.retained,
    });
    this.#heads = new AskedTogether(async (topics) => {
      const found = await this.headsOf([...new Set(topics)]);
      return topics.map(() => found);
    });
  }

  async append(
    topic: string,
    partition: number,
    drafts: readonly EventDraft[],
    fence?: Fence,
  ): Promise<AppendResult> {
    const traits = await this.#traitsOf(topic);
    const target = { place: { topic, partition }, keyed: traits.keyEntries };
    return await this.#log(traits).append(target, drafts, fence);
  }

  /** A payload's JSON is made as its layout keeps it, as text or as bytes: that takes longer than all the rest. */
  prepare(draft: EventDraft, topic: string, before?: EventDraft): void {
    const { body } = draft;
    if (this.#traits.known(topic)?.layout !== "batches") void body.text;
    else {
      this.#bodies.write(body);
      BatchAhead.add(draft, before);
    }
  }

  async read(topic: string, partition: number, options: ReadOptions): Promise<Page> {
    return await (await this.#logOf(topic)).read(topic, partition, options);
  }

  async heads(topic: string): Promise<readonly PartitionHead[]> {
    return headsOfOne(await this.#heads.ask(topic), topic);
  }

  async headsOf(topics: readonly string[]): Promise<HeadsByTopic> {
    const names = new Map<LayoutLog, string[]>([
      [this.#documents, []],
      [this.#batches, []],
    ]);
    const logs = await Promise.all(topics.map((topic) => this.#logOf(topic)));
    for (const [i, log] of logs.entries()) names.get(log)?.push(topics[i] as string);
    const found = await Promise.all([...names].map(([log, topics]) => log.headsOf(topics)));
    return new Map(found.flatMap((heads) => [...heads]));
  }

  async seqAt(topic: string, partition: number, ts: number): Promise<Seq> {
    return await (await this.#logOf(topic)).seqAt(topic, partition, ts);
  }

  /** Looks everywhere. */
  find(id: string): Promise<StoredEvent | null> {
    return this.#documents.find(id);
  }

  async latestByKey(topic: string, keys: readonly string[]): Promise<ReadonlyMap<string, StoredEvent>> {
    const traits = await this.#traitsOf(topic);
    return await this.#log(traits).latestByKey({ name: topic, keyIndex: traits.keyIndex }, keys);
  }

  async history(topic: string, key: string, options: HistoryOptions): Promise<readonly StoredEvent[]> {
    const traits = await this.#traitsOf(topic);
    return await this.#log(traits).history({ name: topic, keyIndex: traits.keyIndex }, key, options);
  }

  async hasKeyIndex(topic: string): Promise<boolean> {
    return (await this.#traitsOf(topic)).keyIndex;
  }

  async trim(topic: string, partition: number, through: Seq): Promise<number> {
    await this.#unmarkIfBack(topic);
    return await (await this.#logOf(topic)).trim(topic, partition, through);
  }

  async remove(topic: string, partition: number, seqs: readonly Seq[]): Promise<number> {
    await this.#unmarkIfBack(topic);
    return await (await this.#logOf(topic)).remove(topic, partition, seqs);
  }

  #unmarkIfBack(topic: string): Promise<void> {
    return this.#connection.gate.write(() => this.#removed.unmarkIfBack(topic));
  }

  async #logOf(topic: string): Promise<LayoutLog> {
    return this.#log(await this.#traitsOf(topic));
  }

  #traitsOf(topic: string): TopicTraits | Promise<TopicTraits> {
    return this.#traits.known(topic) ?? this.#connection.gate.read(() => this.#traits.of(topic));
  }

  #log({ layout }: TopicTraits): LayoutLog {
    return layout === "batches" ? this.#batches : this.#documents;
  }
}
