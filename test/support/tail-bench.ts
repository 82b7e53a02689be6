/** What the tail's tests read with. */

import { Tail, type TailPage, type TailReader } from "../../src/consume/tail.js";
import { DEFAULT_LIMITS, type Limits } from "../../src/model/limits.js";
import type { AppendResult } from "../../src/ports/log.js";
import type { Store } from "../../src/ports/store.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { interceptStore } from "../../src/testing/store-calls.js";
import { gate } from "./eventually.js";
import { draft } from "./stored-events.js";

/** A tail on a real log whose reads are counted, and may be held up. */
export class TailBench {
  readonly store: Store = memoryStore();
  readonly tail: Tail;
  reads = 0;
  /** By partition; listens from its first read on. */
  readonly #readers = new Map<number, TailReader>();
  #holding: Promise<void> | null = null;
  #next = 1;

  constructor(limits: Partial<Limits> = {}) {
    const watched = interceptStore(this.store, {
      around: async (call, proceed) => {
        if (call.name !== "log.read") return proceed();
        this.reads++;
        const page = await proceed();
        await this.#holding;
        return page;
      },
    });
    this.tail = new Tail(watched.log, { ...DEFAULT_LIMITS, ...limits });
  }

  /** Replies to reads wait until the returned function is called. */
  hold(): () => void {
    const { passed, open } = gate();
    this.#holding = passed;
    return () => {
      this.#holding = null;
      open();
    };
  }

  /** Somebody appends; this bus does not know. */
  append(count: number, partition = 0, payload: unknown = "x"): Promise<AppendResult> {
    const drafts = Array.from({ length: count }, () => draft(`e${this.#next++}`, payload));
    return this.store.log.append("t.a", partition, drafts);
  }

  /** This bus appends, and somebody in it reads the partition. */
  async publish(count: number, partition = 0, payload?: unknown): Promise<void> {
    this.tail.listen("t.a", partition, () => undefined);
    this.tail.appended((await this.append(count, partition, payload)).events);
  }

  async read(after: number, limit = 100, partition = 0): Promise<TailPage> {
    return this.readNow(after, limit, partition);
  }

  readNow(after: number, limit: number, partition = 0): TailPage | Promise<TailPage> {
    const reader = this.#readers.get(partition) ?? this.tail.listen("t.a", partition, () => undefined);
    this.#readers.set(partition, reader);
    return this.tail.read(reader, after, limit);
  }

  async seqs(after: number, limit = 100): Promise<number[]> {
    return (await this.read(after, limit)).events.map(({ seq }) => seq);
  }
}

/** Reads a partition as a group does: each event once, in order. */
export class InOrder {
  readonly seen: number[] = [];
  readonly #tail: Tail;
  readonly #reader: TailReader;
  #after = 0;

  constructor(tail: Tail) {
    this.#tail = tail;
    this.#reader = tail.listen("t.a", 0, () => undefined);
  }

  /** True if there is nothing more for now. */
  async read(limit: number): Promise<boolean> {
    const page = await this.#tail.read(this.#reader, this.#after, limit);
    this.seen.push(...page.events.map(({ seq }) => seq));
    this.#after = page.through;
    return page.atHead;
  }
}
