/**
 * The second forms of a topic's events, in `<topic>.vN`. In one that is compacted a newer form of a key takes the place of the older
 * ones, sooner or later than in the first topic: what it has taken the place of is not missing.
 */
import type { StoredEvent } from "../../model/event.js";
import { isForOneGroup } from "../../model/redrive.js";
import type { Store } from "../../ports/store.js";
import { secondId } from "./dual-write.js";

export class SecondTopic {
  readonly #store: Pick<Store, "log" | "registry">;
  readonly #name: string;

  constructor(store: Pick<Store, "log" | "registry">, name: string) {
    this.#store = store;
    this.#name = name;
  }

  /** What came back for one group says nothing new: the event that it was has a second form, or is told of itself. */
  static owed({ meta }: StoredEvent): boolean {
    return !isForOneGroup(meta?.headers);
  }

  /** The second form of each; null if it has none. */
  formsOf(events: readonly StoredEvent[]): Promise<readonly (StoredEvent | null)[]> {
    return Promise.all(events.map(({ id }) => this.#store.log.find(secondId(this.#name, id))));
  }

  /** Of events that have no second form here, those that should have one. */
  async missing(events: readonly StoredEvent[]): Promise<readonly StoredEvent[]> {
    const { log, registry } = this.#store;
    const keys = [...new Set(events.flatMap(({ key }) => key ?? []))];
    if (keys.length === 0 || (await registry.topic(this.#name))?.compaction !== true) return events;
    const latest = await log.latestByKey(this.#name, keys);
    const firsts = new Map<string, StoredEvent>();
    for (const [key, second] of latest) {
      const first = await this.#firstOf(second);
      if (first !== null) firsts.set(key, first);
    }
    return events.filter((event) => !isBehind(event, firsts.get(event.key ?? "")));
  }

  /** The event of which this is the second form; null if it is something else, or the first is gone. */
  async #firstOf(second: StoredEvent): Promise<StoredEvent | null> {
    const [firstId] = second.meta?.caused_by ?? [];
    return firstId !== undefined && second.id === secondId(this.#name, firstId)
      ? this.#store.log.find(firstId)
      : null;
  }
}

function isBehind(event: StoredEvent, newer: StoredEvent | undefined): boolean {
  return newer?.topic === event.topic && newer.partition === event.partition && newer.seq > event.seq;
}
