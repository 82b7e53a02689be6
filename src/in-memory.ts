/** The in-memory bus and its stores under the names of the first days. */
import { Bus } from "./bus/bus.js";
import { BusCore } from "./bus/core.js";
import { settingsOf } from "./bus/options.js";
import { StoreCursors, StoreEvents } from "./ports/event-store.js";
import { memoryStore } from "./stores/memory/index.js";

/** Events in memory, by three verbs: for those who compose by hand. */
export class InMemoryEventStore extends StoreEvents {
  constructor(store = memoryStore()) {
    super(store);
  }
}

/** Positions of groups in memory, to get and to set: for those who compose by hand. */
export class InMemoryCursorStore extends StoreCursors {
  constructor(store = memoryStore()) {
    super(store);
  }
}

/**
 * A bus on a memory store, ready at once. Nothing survives the process, and it says so: `store.capabilities.durable`
 * is false.
 *
 * @example
 * const bus = new InMemoryEventBus();
 */
export class InMemoryEventBus extends Bus {
  constructor(events: StoreEvents = new InMemoryEventStore()) {
    super(new BusCore(settingsOf({ store: events.store }, {})));
  }
}
