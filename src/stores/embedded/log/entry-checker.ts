/**
 * Which events the indexes do not lead to. What is looked for in an index of hashes is sorted first: neighbours share a chunk, which is
 * loaded once for all of them.
 */
import { BusError } from "../../../model/errors.js";
import type { Seq } from "../../../model/event.js";
import { type Batch, BatchCursor } from "../../batch-codec.js";
import type { BatchHead } from "../batches/batches.js";
import { isSpanned, isUuid7 } from "../batches/id-span.js";
import { IdIndex } from "../indexes/id-index.js";
import { KeyIndex } from "../indexes/key-index.js";
import type { Connection } from "../sqlite.js";

/** Of one partition. */
export interface LoadedBatch {
  readonly head: BatchHead;
  readonly batch: Batch;
}

/** An event, and the entry that must be there for it. */
interface Wanted {
  readonly hash: number;
  /** Where the entry leads to. */
  readonly place: Seq;
  readonly seq: Seq;
}

export class EntryChecker {
  readonly #ids: IdIndex;
  readonly #keys: KeyIndex;
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#ids = new IdIndex(connection);
    this.#keys = new KeyIndex(connection);
  }

  /** What is damaged in the indexes, as far as it shows without a look at the log. */
  unreadable(): string[] {
    return [this.#ids, this.#keys].flatMap(unreadableEntries);
  }

  refresh(): void {
    this.#ids.refresh();
    this.#keys.refresh();
  }

  /** Seqs of events of a partition that are not found by their id. */
  notFoundById(part: number, batches: readonly LoadedBatch[]): Set<Seq> {
    const lost = new Set<Seq>();
    const wanted: Wanted[] = [];
    for (const { head, batch } of batches) {
      const cursor = new BatchCursor(batch);
      while (cursor.next()) {
        const { seq } = cursor;
        if (isSpanned(batch, head, cursor)) continue;
        const is7 = isUuid7(batch, cursor);
        if ((is7 || this.#ids.hasOlder) && this.#isInTree(part, cursor)) continue;
        if (is7) lost.add(seq);
        else wanted.push({ hash: this.#ids.hashOf(batch, cursor), place: seq, seq });
      }
    }
    return this.#notFound(wanted, lost, ({ hash, place }) =>
      this.#ids.places(hash).some((found) => found.part === part && found.seq === place),
    );
  }

  /** Seqs of events of a partition that are not found by their key. */
  notFoundByKey(topic: number, part: number, batches: readonly LoadedBatch[]): Set<Seq> {
    const wanted: Wanted[] = [];
    for (const { head, batch } of batches) {
      const cursor = new BatchCursor(batch);
      while (cursor.next()) {
        const key = cursor.keyBytes;
        if (key !== undefined)
          wanted.push({ hash: this.#keys.hash.ofKey(topic, key), place: head.firstSeq, seq: cursor.seq });
      }
    }
    return this.#notFound(wanted, new Set(), ({ hash, place }) => {
      for (const found of this.#keys.places(hash, place, false)) {
        if (found.seq > place) return false;
        if (found.part === part) return true;
      }
      return false;
    });
  }

  #notFound(wanted: Wanted[], lost: Set<Seq>, isFound: (one: Wanted) => boolean): Set<Seq> {
    wanted.sort((a, b) => a.hash - b.hash || a.place - b.place);
    for (const one of wanted) {
      let found = false;
      // What is damaged is told of by `unreadable`.
      damageIn(() => {
        found = isFound(one);
      });
      if (!found) lost.add(one.seq);
    }
    return lost;
  }

  #isInTree(part: number, cursor: BatchCursor): boolean {
    const found = this.#connection
      .sql(
        `SELECT 1 FROM id_index WHERE id = ?1 AND part = ?2 AND seq = ?3
         UNION ALL SELECT 1 FROM filed_id WHERE id = ?1 AND part = ?2 AND seq = ?3`,
      )
      .get(cursor.indexKey, part, cursor.seq);
    return found !== undefined;
  }
}

function unreadableEntries(index: IdIndex | KeyIndex): string[] {
  index.refresh();
  const { damage, runs } = index;
  const damaged = [...runs.all()].flatMap((run) =>
    Array.from({ length: run.chunks }, (_, chunk) => damageIn(() => run.check(chunk))).flat(),
  );
  return [...(damage === undefined ? [] : [damage.message]), ...damaged];
}

/** What a look at something says of its damage, if there is any. */
export function damageIn(look: () => unknown): string[] {
  try {
    look();
    return [];
  } catch (error) {
    if (!BusError.is(error, "STORE_DAMAGED")) throw error;
    return [error.message];
  }
}
