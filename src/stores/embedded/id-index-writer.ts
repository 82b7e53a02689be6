/** The index of ids in the writing thread: entries on their way into the file, and what is undone if they do not get there. */
import type { Batch, BatchCursor } from "../batch-codec.js";
import { EntryList, encodeEntries } from "./id-entries.js";
import { IdIndex } from "./id-index.js";
import { IdMerger, type IdSizes } from "./id-merger.js";
import type { Partitions } from "./partitions.js";
import type { Connection } from "./sqlite.js";

const ROOM = 64;

export class IdIndexWriter {
  readonly index: IdIndex;
  readonly #connection: Connection;
  readonly #partitions: Partitions;
  readonly #merger: IdMerger;
  /** Those of the requests since the last `flush`. */
  #gathered = new EntryList(ROOM);
  #newlyDead = 0;
  /** Entries since the last slice. */
  #added = 0;
  /** The last note that is certain to stay, and whether runs have been changed since. */
  #settledThrough = 0;
  #hasChangedRuns = false;
  /** False if nothing was added since the last look: most groups add nothing, and need not pay for one. */
  #mayBeDue = true;

  constructor(connection: Connection, partitions: Partitions, sizes: IdSizes) {
    this.#connection = connection;
    this.#partitions = partitions;
    this.index = new IdIndex(connection);
    this.#merger = new IdMerger({ connection, index: this.index, partitions, sizes });
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
  }

  /** Another process has written, or nothing is known yet. */
  refresh(): void {
    this.index.refresh();
    this.#mayBeDue = true;
  }

  /** Takes note of the event that the cursor stands on. */
  add(part: number, batch: Batch, cursor: BatchCursor): void {
    this.#gathered.push(this.index.hashOf(batch, cursor), part, cursor.seq);
  }

  /** The event that the cursor stands on is gone. An entry below the low of its partition leads nowhere without being told. */
  remove(part: number, batch: Batch, cursor: BatchCursor): void {
    const { seq } = cursor;
    this.#newlyDead++;
    if (seq < this.#partitions.get(part).low) return;
    this.#newlyDead++;
    this.#gathered.push(this.index.hashOf(batch, cursor), part, -seq);
  }

  /** Writes what was gathered. */
  flush(): void {
    const entries = this.#gathered;
    if (this.#newlyDead > 0) {
      this.#connection.sql("UPDATE id_state SET dead = dead + ?").run(this.#newlyDead);
      this.index.dead += this.#newlyDead;
      this.#newlyDead = 0;
      this.#mayBeDue = true;
    }
    if (entries.length > 0) {
      this.index.notes.write(this.#connection, encodeEntries(entries, 0, entries.length), entries);
      this.#gathered = new EntryList(ROOM);
      this.#added += entries.length;
      this.#mayBeDue = true;
    }
  }

  /** Something was rolled back: what was gathered is not to be written, and what was written may be gone. */
  forget(): void {
    this.#gathered = new EntryList(ROOM);
    this.#newlyDead = 0;
    if (this.#hasChangedRuns) this.index.forget();
    else this.index.notes.unlearn(this.#settledThrough);
  }
}
