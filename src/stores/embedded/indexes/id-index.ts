/** The index of ids that are no UUIDv7 (P3): see hashed-index. Its entries lead to events. */
import type { Seq } from "../../../model/event.js";
import type { Batch, BatchCursor } from "../../batch-codec.js";
import type { Connection } from "../sqlite.js";
import { HashedIndex } from "./hashed-index.js";
import { IdNotes } from "./id-notes.js";
import type { OnEntry } from "./index-runs.js";
import { ID_TABLES } from "./index-tables.js";

export interface Place {
  readonly part: number;
  readonly seq: Seq;
}

export class IdIndex extends HashedIndex<IdNotes> {
  /** Whether there are ids in the tree that would stand here today. */
  hasOlder = false;

  constructor(connection: Connection) {
    super(connection, ID_TABLES, new IdNotes());
  }

  protected override load(): void {
    super.load();
    const row = this.connection
      .sql("SELECT EXISTS (SELECT 1 FROM id_index WHERE id < x'07')")
      .get<[number]>();
    this.hasOlder = row !== undefined && row[0] > 0;
  }

  /** Of the id that a cursor stands on. */
  hashOf({ ids }: Batch, cursor: BatchCursor): number {
    const { uuidAt } = cursor;
    return uuidAt >= 0 ? this.hash.ofUuid(ids, uuidAt) : this.hash.ofText(cursor.id);
  }

  /** Of many hashes: 0 where nothing stands under one, certainly. */
  marks(hashes: Float64Array): Uint8Array {
    if (this.damage !== undefined) throw this.damage;
    const marks = new Uint8Array(hashes.length);
    this.notes.entries.mark(hashes, marks);
    this.runs.mark(hashes, marks);
    return marks;
  }

  /** Where the event under a hash may stand. */
  places(hash: number): readonly Place[] {
    if (this.damage !== undefined) throw this.damage;
    let places = NOWHERE;
    const onEntry: OnEntry = (part, seq) => {
      if (seq > 0) places = [...places, { part, seq }];
    };
    this.notes.entries.find(hash, onEntry);
    this.runs.find(hash, onEntry);
    return places;
  }
}

const NOWHERE: readonly Place[] = [];
