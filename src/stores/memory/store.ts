/** A store in the memory of one process: for tests, and for fan-out that need not outlive the process. */
import { type Clock, systemClock } from "../../model/clock.js";
import type { Capabilities, Signal, Store } from "../../ports/store.js";
import { MemoryDocuments } from "./documents.js";
import { MemoryGroups } from "./groups.js";
import { Lifetime } from "./lifetime.js";
import { MemoryLog } from "./log.js";
import { MemoryOutbox } from "./outbox.js";
import { MemoryRegistry } from "./registry.js";
import { Signals } from "./signals.js";

/** How the store is called, and how much it holds. */
export interface MemoryStoreOptions {
  /** How it is called in messages; "memory" unless given. */
  readonly name?: string;
  /** Events it may hold at once; one more is refused with STORE_FULL. */
  readonly maxEvents?: number;
  /** For entries of the outbox that come without a time. */
  readonly clock?: Clock;
}

/** A JavaScript Map ends at 2^24 entries, and ids are kept in one. */
const MAX_EVENTS = 16_000_000;

/**
 * A store that lives as long as somebody holds it; several buses of one process may share it. Closed and opened again
 * it still has its data. It grows with the log: give topics a retention.
 *
 * @example
 * const bus = await createBus({ store: memoryStore() });
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options);
}

class MemoryStore implements Store {
  readonly name: string;
  readonly capabilities: Capabilities = Object.freeze({
    durable: false,
    sharedByProcesses: false,
    transactions: true,
    transactsInOrder: true,
    changeFeed: false,
    defaultPartitions: 1,
  });
  readonly log: MemoryLog;
  readonly groups: MemoryGroups;
  readonly documents: MemoryDocuments;
  readonly outbox: MemoryOutbox;
  readonly registry: MemoryRegistry;
  readonly #lifetime = new Lifetime();
  readonly #signals = new Signals();

  constructor(options: MemoryStoreOptions) {
    this.name = options.name ?? "memory";
    this.registry = new MemoryRegistry({
      lifetime: this.#lifetime,
      signals: this.#signals,
      written: (topic) => this.log.written(topic),
    });
    this.groups = new MemoryGroups(this.#lifetime, this.#signals);
    this.documents = new MemoryDocuments(this.#lifetime, this.groups);
    this.outbox = new MemoryOutbox(this.#lifetime, options.clock ?? systemClock);
    this.log = new MemoryLog({
      lifetime: this.#lifetime,
      signals: this.#signals,
      partitionsOf: (topic) => this.registry.partitionsOf(topic),
      fence: (fence) => this.groups.fence(fence),
      maxEvents: options.maxEvents ?? MAX_EVENTS,
    });
  }

  async open(): Promise<void> {
    this.#lifetime.open();
  }

  watch(listener: (signal: Signal) => void): () => void {
    this.#lifetime.check();
    return this.#signals.listen(listener);
  }

  /** Nothing is ever under way: every call is done before it returns its promise. */
  async close(): Promise<void> {
    this.#lifetime.close();
    this.#signals.clear();
    this.outbox.stopWatching();
  }
}
