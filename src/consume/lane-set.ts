/**
 * The lanes of one owner of one partition, by name. To look one up by name takes longer than anything else that is done when an
 * event is taken in, and groups near the head take in the same events, mostly in the same order. So an event remembers the lane that
 * was found for it last, and that lane the one that another group found for the same key after it: most likely the one wanted now.
 *
 * Invariant: a lane that is not in its set any more has no home, or that of an earlier time, so that nobody finds it this way.
 */
import type { StoredEvent } from "../model/event.js";
import type { Entry } from "./entry.js";

/** Events that must go one after the other. It may be empty: see lanes.ts. */
export class Lane {
  readonly name: string;
  /** Entries that are out of the queue and not settled; those that let others pass are counted apart. */
  active = 0;
  passed = 0;
  /** Waiting entries by seq; null if there are none. */
  queue: Entry[] | null = null;
  /** Of the set that it is in. */
  home: object | null;
  /** The lane of the same key that was found after this one. */
  next: Lane | null = null;

  constructor(name: string, home: object) {
    this.name = name;
    this.home = home;
  }
}

export class LaneSet {
  #byName = new Map<string, Lane>();
  #home = {};

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): Lane | undefined {
    return this.#byName.get(name);
  }

  /** The lane of this name; made if there is none. */
  named(name: string): Lane {
    let lane = this.#byName.get(name);
    if (lane === undefined) {
      lane = new Lane(name, this.#home);
      this.#byName.set(name, lane);
    }
    return lane;
  }

  /** The lane of the event's key. */
  ofKey(key: string, event: StoredEvent): Lane {
    const last = event.lane as Lane | null;
    let lane = last === null ? null : last.next;
    if (lane === null || lane.home !== this.#home) {
      lane = this.named(key);
      if (last !== null) last.next = lane;
    }
    event.lane = lane;
    return lane;
  }

  delete(lane: Lane): void {
    lane.home = null;
    lane.next = null;
    this.#byName.delete(lane.name);
  }

  clear(): void {
    this.#home = {};
    this.#byName = new Map();
  }
}
