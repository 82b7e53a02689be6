/** The log in MongoDB: each call goes to where the events of its topic are kept. */
import type { EventDraft, Seq, StoredEvent } from "../../model/event.js";
import type { TopicLayout } from "../../model/topic.js";
import type { Fence } from "../../ports/groups.js";
import type { AppendResult, HistoryOptions, Log, Page, PartitionHead, ReadOptions } from "../../ports/log.js";
import { BatchLog } from "./batches/log.js";
import type { Connection } from "./connection.js";
import { Layouts } from "./layouts.js";
import { MongoLog, type MongoLogOptions } from "./log.js";

export class LogByLayout implements Log {
  readonly #connection: Connection;
  readonly #layouts: Layouts;
  readonly #documents: MongoLog;
  readonly #batches: BatchLog;

  constructor(connection: Connection, options: Omit<MongoLogOptions, "elsewhere">) {
    this.#connection = connection;
    this.#layouts = new Layouts(connection);
    this.#documents = new MongoLog(connection, {
      ...options,
      elsewhere: (ids, session) => this.#batches.retained(ids, session),
    });
    this.#batches = new BatchLog(connection, {
      signal: options.signal,
      elsewhere: this.#documents.retained,
    });
  }

  async append(
    topic: string,
    partition: number,
    drafts: readonly EventDraft[],
    fence?: Fence,
  ): Promise<AppendResult> {
    return await (await this.#logOf(topic)).append(topic, partition, drafts, fence);
  }

  /** Both layouts keep the payload's text, or the bytes it came in; to make it takes longer than all the rest. */
  prepare({ body }: EventDraft): void {
    void body.encoded;
  }

  async read(topic: string, partition: number, options: ReadOptions): Promise<Page> {
    return await (await this.#logOf(topic)).read(topic, partition, options);
  }

  async heads(topic: string): Promise<readonly PartitionHead[]> {
    return await (await this.#logOf(topic)).heads(topic);
  }

  async seqAt(topic: string, partition: number, ts: number): Promise<Seq> {
    return await (await this.#logOf(topic)).seqAt(topic, partition, ts);
  }

  /** Looks everywhere. */
  find(id: string): Promise<StoredEvent | null> {
    return this.#documents.find(id);
  }

  async latestByKey(topic: string, keys: readonly string[]): Promise<ReadonlyMap<string, StoredEvent>> {
    return await (await this.#logOf(topic)).latestByKey(topic, keys);
  }

  async history(topic: string, key: string, options: HistoryOptions): Promise<readonly StoredEvent[]> {
    return await (await this.#logOf(topic)).history(topic, key, options);
  }

  async trim(topic: string, partition: number, through: Seq): Promise<number> {
    return await (await this.#logOf(topic)).trim(topic, partition, through);
  }

  async remove(topic: string, partition: number, seqs: readonly Seq[]): Promise<number> {
    return await (await this.#logOf(topic)).remove(topic, partition, seqs);
  }

  #logOf(topic: string): MongoLog | BatchLog | Promise<MongoLog | BatchLog> {
    const layout = this.#layouts.known(topic);
    if (layout !== undefined) return this.#log(layout);
    return this.#connection.gate.read(async () => this.#log(await this.#layouts.of(topic)));
  }

  #log(layout: TopicLayout): MongoLog | BatchLog {
    return layout === "batches" ? this.#batches : this.#documents;
  }
}
