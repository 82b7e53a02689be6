/** An index in the writing thread: entries on their way into the file, and what is undone if they do not get there. */

import type { Connection } from "../sqlite.js";
import type { HashedIndex } from "./hashed-index.js";
import { EntryList, encodeEntries } from "./index-entries.js";
import { IndexMerger, type IndexSizes } from "./index-merger.js";
import type { NotedEntries } from "./index-notes.js";
import type { IsGone } from "./index-run-writer.js";

const ROOM = 64;

export class IndexWriter<I extends HashedIndex<NotedEntries>> {
  readonly index: I;
  readonly #connection: Connection;
  readonly #merger: IndexMerger;
  /** Those of the requests since the last `flush`. */
  #gathered = new EntryList(ROOM);
  #newlyDead = 0;
  /** Entries since the last slice. */
  #added = 0;
  /** The last note that is certain to stay, and whether runs have been changed since. */
  #settledThrough = 0;
  #hasChangedRuns = false;
  /**
   * Whether entries were taken back or counted as dead since. Undone, what is known would go on saying so: the next run would lack
   * them, or all runs would be made anew to be rid of them.
   */
  #hasTakenBack = false;
  /** False if nothing was added since the last look: most groups add nothing, and need not pay for one. */
  #mayBeDue = true;

  constructor(connection: Connection, index: I, o: { readonly isGone: IsGone; readonly sizes: IndexSizes }) {
    this.#connection = connection;
    this.index = index;
    this.#merger = new IndexMerger({ connection, index, ...o });
  }

  /** Whether there is something to be put in order. */
  get isDue(): boolean {
    this.#mayBeDue &&= this.#merger.isDue;
    return this.#mayBeDue;
  }

  /** Puts a slice of it in order. */
  slice(): void {
    this.#hasChangedRuns = true;
    this.#merger.slice(this.#added);
    this.#added = 0;
  }

  /** A transaction begins: what came with those before it is settled, or was forgotten. */
  begin(): void {
    if (this.index.isForgotten) this.refresh();
    this.#settledThrough = this.index.notes.through;
    this.#hasChangedRuns = false;
    this.#hasTakenBack = false;
  }

  /** Another process has written, or nothing is known yet. */
  refresh(): void {
    this.index.refresh();
    this.#mayBeDue = true;
  }

  /** Takes note of what stands at a place. */
  add(hash: number, part: number, seq: number): void {
    this.#gathered.push(hash, part, seq);
  }

  /** So many entries lead nowhere, as `isGone` will say of them. */
  countDead(entries: number): void {
    this.#newlyDead += entries;
    this.#hasTakenBack = true;
  }

  /** Takes note that it stands there no longer. */
  remove(hash: number, part: number, seq: number): void {
    this.#gathered.push(hash, part, -seq);
    // Both of them.
    this.countDead(2);
  }

  /** Writes what was gathered. */
  flush(): void {
    const entries = this.#gathered;
    if (this.#newlyDead > 0) {
      this.#connection.sql(`UPDATE ${this.index.tables.state} SET dead = dead + ?`).run(this.#newlyDead);
      this.index.dead += this.#newlyDead;
      this.#newlyDead = 0;
      this.#mayBeDue = true;
    }
    if (entries.length > 0) {
      this.index.notes.write(encodeEntries(entries, 0, entries.length), entries);
      this.#gathered = new EntryList(ROOM);
      this.#added += entries.length;
      this.#mayBeDue = true;
    }
  }

  /** Something was rolled back: what was gathered is not to be written, and what was written may be gone. */
  forget(): void {
    this.#gathered = new EntryList(ROOM);
    this.#newlyDead = 0;
    if (!this.#hasChangedRuns && !this.#hasTakenBack) {
      this.index.notes.unlearn(this.#settledThrough);
      return;
    }
    this.index.forget();
    // What comes next in the same transaction asks for it; the next one looks by itself.
    if (this.#connection.inTransaction) this.refresh();
  }
}
