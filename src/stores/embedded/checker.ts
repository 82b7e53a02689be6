/**
 * Looks at everything in the file that reads would not look at until somebody asks for it: the pages, every batch against
 * its checksum, and every event against the indexes that must lead to it. Runs in a reading thread, a stretch at a time.
 */
import { BusError } from "../../model/errors.js";
import type { Seq } from "../../model/event.js";
import { type Batch, BatchCursor } from "../batch-codec.js";
import { Batches, type BatchHead, FIRST_SEQ, posOf } from "./batches.js";
import { damagedEntries } from "./id-entries.js";
import { IdIndex } from "./id-index.js";
import { isSpanned, isUuid7 } from "./id-lookup.js";
import { loadChunk, placeOfChunk } from "./id-runs.js";
import type { Connection } from "./sqlite.js";
import { KEYS_READY, Topics } from "./topics.js";

/** One partition in the file, and how far it was checked. */
export interface Stretch {
  readonly part: number;
  /** Whose index by key is complete; null: the topic keeps none. */
  readonly keyedTopic: number | null;
  readonly after: Seq;
}

export interface CheckedStretch {
  /** The last seq that was looked at; null at the end of the partition. */
  readonly through: Seq | null;
  readonly events: number;
  readonly problems: readonly string[];
}

const BATCHES_PER_STRETCH = 64;
const MAX_STRUCTURE_PROBLEMS = 20;

export class Checker {
  readonly #connection: Connection;
  readonly #topics: Topics;
  readonly #batches: Batches;
  readonly #index: IdIndex;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#topics = new Topics(connection);
    this.#batches = new Batches(connection, this.#topics, () => undefined);
    this.#index = new IdIndex(connection);
  }

  /** What the engine itself finds wrong with pages, rows and indexes. */
  structure(): string[] {
    const problems = this.#connection
      .sql(`PRAGMA integrity_check(${MAX_STRUCTURE_PROBLEMS})`)
      .all<[string]>()
      .map(([line]) => line)
      .filter((line) => line !== "ok");
    return [
      ...problems,
      ...this.#unreadableSheets(),
      ...this.#connection.snapshot(() => this.#unreadableIds()),
    ];
  }

  #unreadableIds(): string[] {
    this.#index.refresh();
    const { damage, runs } = this.#index;
    const damaged = [...runs.all()].flatMap(({ id, firsts }) =>
      firsts.flatMap((first) =>
        damageIn(() => loadChunk(this.#connection, id, first) ?? damagedEntries(placeOfChunk(id, first))),
      ),
    );
    return [...(damage === undefined ? [] : [damage.message]), ...damaged];
  }

  /** Those of now, and those that were set aside under a negative number. */
  #unreadableSheets(): string[] {
    const { sheets } = this.#batches;
    sheets.refresh();
    const aside = this.#connection.sql("SELECT -id FROM sheet WHERE id < 0").all<[number]>();
    return [...sheets.unreadable, ...aside.flat()].map((id) => `the directory of sheet ${id} is damaged`);
  }

  partitions(): { stretches: Stretch[]; events: number } {
    const rows = this.#connection
      .sql("SELECT id, partitions, first_part, keys FROM topic ORDER BY first_part")
      .all<[topic: number, partitions: number, firstPart: number, keys: number]>();
    const events = this.#connection.sql("SELECT coalesce(sum(events), 0) FROM part").get<[number]>()?.[0];
    const stretches = rows.flatMap(([topic, partitions, firstPart, keys]) =>
      Array.from({ length: partitions }, (_, p) => ({
        part: firstPart + p,
        keyedTopic: keys === KEYS_READY ? topic : null,
        after: 0,
      })),
    );
    return { stretches, events: events ?? 0 };
  }

  next({ part, keyedTopic, after }: Stretch): CheckedStretch {
    this.#index.refresh();
    const heads = this.#batches.above(part, after, BATCHES_PER_STRETCH);
    const problems = after === 0 ? this.#totals(part) : [];
    let events = 0;
    for (const head of heads) {
      events += head.count;
      problems.push(...this.#batch(head, keyedTopic));
    }
    return { through: heads.at(-1)?.lastSeq ?? null, events, problems };
  }

  /** What the partition says of itself against what is there. */
  #totals(part: number): string[] {
    const said = this.#connection
      .sql("SELECT head, events, bytes FROM part WHERE id = ?")
      .get<[head: number, events: number, bytes: number]>(part);
    const found = this.#connection
      .sql(
        `SELECT coalesce(max(last_seq), 0), coalesce(sum(count), 0), coalesce(sum(bytes), 0),
           coalesce(sum(last_seq < (${FIRST_SEQ})), 0) FROM batch
         WHERE pos > ${posOf("?1", "0")} AND pos < ${posOf("?1 + 1", "0")}`,
      )
      .get<[head: number, events: number, bytes: number, reversed: number]>(part);
    if (said === undefined || found === undefined) return [`partition number ${part} has no state`];
    let [head, events, bytes] = found;
    const [, , , reversed] = found;
    for (const piece of this.#batches.sheets.of(part)) {
      head = Math.max(head, piece.lastSeq);
      events += piece.count;
      bytes += piece.bytes;
    }
    const { topic, partition } = this.#topics.owner(part);
    const name = `partition ${partition} of "${topic}"`;
    // Whoever goes through the batches by their ends does not meet those.
    const problems = reversed === 0 ? [] : [`${name} has ${reversed} batches that end before they begin`];
    // What stood at the end may have been removed since.
    if (said[0] < head || said[1] !== events || said[2] !== bytes)
      problems.push(
        `${name} says head ${said[0]}, ${said[1]} events, ${said[2]} bytes; found are ${head}, ${events}, ${bytes}`,
      );
    return problems;
  }

  #batch(head: BatchHead, keyedTopic: number | null): string[] {
    let batch: Batch | undefined;
    const damage = damageIn(() => {
      batch = this.#batches.load(head);
    });
    if (batch === undefined) return damage;
    const { topic, partition } = this.#topics.owner(head.part);
    const problems: string[] = [];
    const cursor = new BatchCursor(batch);
    while (cursor.next()) {
      const lost = [
        ...(this.#hasId(head, batch, cursor) ? [] : ["its id"]),
        ...(keyedTopic === null || this.#hasKey(keyedTopic, head, cursor) ? [] : ["its key"]),
      ];
      if (lost.length > 0)
        problems.push(
          `event ${cursor.seq} of partition ${partition} of "${topic}" is not found by ${lost.join(" or ")}`,
        );
    }
    return problems;
  }

  #hasId(head: BatchHead, batch: Batch, cursor: BatchCursor): boolean {
    if (isSpanned(batch, head, cursor)) return true;
    if (!isUuid7(batch, cursor) && this.#isIndexed(head, batch, cursor)) return true;
    const found = this.#connection
      .sql(
        `SELECT 1 FROM id_index WHERE id = ?1 AND part = ?2 AND seq = ?3
         UNION ALL SELECT 1 FROM filed_id WHERE id = ?1 AND part = ?2 AND seq = ?3`,
      )
      .get(cursor.indexKey, head.part, cursor.seq);
    return found !== undefined;
  }

  #isIndexed({ part }: BatchHead, batch: Batch, cursor: BatchCursor): boolean {
    const hash = this.#index.hashOf(batch, cursor);
    let found = false;
    damageIn(() => {
      found = this.#index.places(hash).some((place) => place.part === part && place.seq === cursor.seq);
    });
    return found;
  }

  #hasKey(topic: number, { part, firstSeq }: BatchHead, cursor: BatchCursor): boolean {
    const key = cursor.keyBytes;
    if (key === undefined) return true;
    const found = this.#connection
      .sql("SELECT 1 FROM key_index WHERE topic = ? AND key = ? AND first_seq = ? AND part = ?")
      .get(topic, key, firstSeq, part);
    return found !== undefined;
  }
}

/** What a look at something says of its damage, if there is any. */
function damageIn(look: () => unknown): string[] {
  try {
    look();
    return [];
  } catch (error) {
    if (!BusError.is(error, "STORE_DAMAGED")) throw error;
    return [error.message];
  }
}
