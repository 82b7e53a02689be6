/** A publisher on a memory store whose appends can be held up, counted, and made to fail by appointment. */
import type { Clock } from "../../src/model/clock.js";
import type { EventDraft, StoredEvent } from "../../src/model/event.js";
import { DEFAULT_LIMITS, type Limits } from "../../src/model/limits.js";
import { ManualClock } from "../../src/model/manual-clock.js";
import type { TopicConfig } from "../../src/model/topic.js";
import type { Log } from "../../src/ports/log.js";
import { Draft, type Waiter } from "../../src/publish/draft.js";
import { Publisher } from "../../src/publish/publisher.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { type Fault, faultyStore, scheduledFaults } from "../../src/testing/faulty-store/index.js";
import { interceptStore } from "../../src/testing/store-calls.js";
import { type Gate, gate } from "./eventually.js";
import { draft } from "./stored-events.js";

const TOPIC: TopicConfig = { name: "t.a", partitions: 1 };

export interface BenchOptions {
  readonly limits?: Partial<Limits>;
  readonly giveUpAfterMs?: number;
  /** The fault of the first append, the second, and so on; null for none. */
  readonly faults?: readonly (Fault | null)[];
  /** Ids that it cannot prepare. */
  readonly unprepared?: ReadonlySet<string>;
  /** What the store can do at once. */
  readonly appendNow?: Log["appendNow"];
}

export interface Published {
  readonly event: StoredEvent;
  readonly duplicate: boolean;
}

export class PublishingBench {
  readonly clock = new ManualClock();
  readonly store = memoryStore();
  readonly publisher: Publisher;
  /** The ids of each append, in order. */
  readonly appends: string[][] = [];
  /** The drafts of each append. */
  readonly drafts: (readonly EventDraft[])[] = [];
  /** Ids that the store was asked to prepare, and those they were said to come behind. */
  readonly prepared: string[] = [];
  readonly behind: (string | undefined)[] = [];
  readonly announced: number[] = [];
  /** Heads that the writer told of. */
  readonly heard: number[] = [];
  readonly closing = new AbortController();
  #gate: Gate | null = null;
  #next = 1;

  constructor(options: BenchOptions = {}) {
    const plan = scheduledFaults(
      (options.faults ?? []).flatMap((fault, i) =>
        fault === null ? [] : [{ on: "log.append" as const, nth: i + 1, fault }],
      ),
    );
    const faulty = faultyStore(this.store, plan, { clock: this.clock as Clock });
    const watched = interceptStore(faulty, {
      around: async (call, proceed) => {
        if (call.name === "log.append") {
          this.appends.push(call.args[2].map(({ id }) => id));
          this.drafts.push(call.args[2]);
          await this.#gate?.passed;
        }
        return proceed();
      },
    });
    this.publisher = new Publisher({
      log: {
        ...watched.log,
        prepare: ({ id }, _topic, before) => {
          this.prepared.push(id);
          this.behind.push(before?.id);
          if (options.unprepared?.has(id)) throw new Error(`cannot prepare ${id}`);
        },
        ...(options.appendNow !== undefined && { appendNow: options.appendNow }),
      },
      clock: this.clock,
      limits: { ...DEFAULT_LIMITS, ...options.limits },
      retry: { baseMs: 100, maxMs: 100, factor: 1, jitter: 0 },
      giveUpAfterMs: options.giveUpAfterMs ?? 1_000,
      signal: this.closing.signal,
      onAppended: (events) => this.announced.push(...events.map(({ seq }) => seq)),
      onHeard: (_topic, _partition, head) => this.heard.push(head),
    });
  }

  /** Appends wait until the returned function is called. */
  hold(): () => void {
    const held = gate();
    this.#gate = held;
    return () => {
      this.#gate = null;
      held.open();
    };
  }

  /** Publishes under this id, or under one that the bus would have made. */
  publish(id?: string, payload: unknown = id, topic: TopicConfig = TOPIC): Promise<Published> {
    const made = draft(id ?? `own-${this.#next++}`, payload ?? null, { freshId: id === undefined });
    return this.publishDraft(made, topic);
  }

  /** As somebody who publishes nothing else. */
  publishAlone(id: string): Promise<Published> {
    return this.publishDraft(draft(id, id), TOPIC, undefined, true);
  }

  publishDraft(
    made: EventDraft,
    topic: TopicConfig = TOPIC,
    partition?: number,
    isAlone = false,
  ): Promise<Published> {
    return new Promise((resolve, reject) => {
      const done = (event: StoredEvent, duplicate: boolean): void => resolve({ event, duplicate });
      this.queue(made, { isAlone, done, fail: reject }, topic, partition);
    });
  }

  queue(made: EventDraft, waiter: Waiter, topic: TopicConfig = TOPIC, partition?: number): void {
    const { id, ts, key, meta, body, freshId } = made;
    const queued = new Draft(id, ts, key, meta, body, freshId);
    this.publisher.admit(1, queued.bytes);
    this.publisher.add(topic, partition, queued, waiter);
  }

  /** What the log holds, by id. */
  async logged(topic = TOPIC.name, partition = 0): Promise<string[]> {
    const { events } = await this.store.log.read(topic, partition, { after: 0, limit: 100_000 });
    return events.map(({ id }) => id);
  }
}

export const LOST = { type: "lost-reply", silentMs: 0 } as const;
export const REFUSED = { type: "error-before" } as const;
