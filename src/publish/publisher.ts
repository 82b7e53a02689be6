/** The publish path of a bus: which partition, within bounds (P13), through that partition's writer. */
import { BusError } from "../model/errors.js";
import type { Seq } from "../model/event.js";
import { jumpHash } from "../model/partition.js";
import type { TopicConfig } from "../model/topic.js";
import type { Draft, Waiter } from "./draft.js";
import { PartitionWriter, type WriterOptions } from "./partition-writer.js";

export class Publisher {
  readonly #options: WriterOptions;
  readonly #writers = new Map<string, PartitionWriter[]>();
  #queuedEvents = 0;
  #queuedBytes = 0;

  constructor(options: Omit<WriterOptions, "onDequeued">) {
    this.#options = {
      ...options,
      onDequeued: (events, bytes) => {
        this.#queuedEvents -= events;
        this.#queuedBytes -= bytes;
      },
    };
  }

  /** Events waiting or under way. */
  get queued(): number {
    return this.#queuedEvents;
  }

  /** Throws QUEUE_FULL, with nothing queued, unless there is room for all of them. */
  admit(events: number, bytes: number): void {
    const { maxQueuedEvents, maxQueuedBytes } = this.#options.limits;
    if (events > maxQueuedEvents || bytes > maxQueuedBytes) {
      throw new BusError(
        "QUEUE_FULL",
        `${events} events (${bytes} bytes) wait to be published at once; the queue holds ${maxQueuedEvents} events and ${maxQueuedBytes} bytes: publish them in parts`,
        { retryable: false, details: { maxQueuedEvents, maxQueuedBytes } },
      );
    }
    if (this.#queuedEvents + events > maxQueuedEvents || this.#queuedBytes + bytes > maxQueuedBytes) {
      throw new BusError(
        "QUEUE_FULL",
        `${this.#queuedEvents} events (${this.#queuedBytes} bytes) wait to be published; await publish to slow down`,
        {
          details: {
            queuedEvents: this.#queuedEvents,
            queuedBytes: this.#queuedBytes,
            maxQueuedEvents,
            maxQueuedBytes,
          },
        },
      );
    }
    this.#queuedEvents += events;
    this.#queuedBytes += bytes;
  }

  /** Queues an admitted draft. */
  add(topic: TopicConfig, partition: number | undefined, draft: Draft, waiter: Waiter): void {
    const chosen =
      partition ?? (topic.partitions === 1 ? 0 : jumpHash(draft.key ?? draft.id, topic.partitions));
    this.#writer(topic.name, chosen).add(draft, waiter);
  }

  /** Whether this partition's writer will tell of the growth itself, once its append is over. */
  hear(topic: string, partition: number, head: Seq): boolean {
    return this.#writers.get(topic)?.[partition]?.hear(head) ?? false;
  }

  async drained(): Promise<void> {
    for (const writers of this.#writers.values()) for (const writer of writers) await writer?.drained();
  }

  #writer(topic: string, partition: number): PartitionWriter {
    let writers = this.#writers.get(topic);
    if (writers === undefined) {
      writers = [];
      this.#writers.set(topic, writers);
    }
    let writer = writers[partition];
    if (writer === undefined) {
      writer = new PartitionWriter(topic, partition, this.#options);
      writers[partition] = writer;
    }
    return writer;
  }
}
