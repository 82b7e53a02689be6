/**
 * Entries in the order in which they came, linked by themselves: each delivery is put in and taken out once, and a set
 * would make something for each. An entry is in one such list at most.
 */
import type { Entry } from "./entry.js";

export class EntryList {
  #first: Entry | null = null;
  #last: Entry | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The entry must not be in it. */
  add(entry: Entry): void {
    entry.before = this.#last;
    entry.behind = null;
    if (this.#last === null) this.#first = entry;
    else this.#last.behind = entry;
    this.#last = entry;
    this.#size++;
  }

  /** The entry must be in it. */
  delete(entry: Entry): void {
    const { before, behind } = entry;
    if (before === null) this.#first = behind;
    else before.behind = behind;
    if (behind === null) this.#last = before;
    else behind.before = before;
    entry.before = null;
    entry.behind = null;
    this.#size--;
  }

  clear(): void {
    for (let entry = this.#first; entry !== null; ) {
      const { behind } = entry;
      entry.before = null;
      entry.behind = null;
      entry = behind;
    }
    this.#first = null;
    this.#last = null;
    this.#size = 0;
  }

  /** The entry that was just given may be taken out. */
  *[Symbol.iterator](): Generator<Entry> {
    for (let entry = this.#first; entry !== null; ) {
      const { behind } = entry;
      yield entry;
      entry = behind;
    }
  }
}
