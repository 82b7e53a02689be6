/**
 * Looks at everything in the file that reads would not look at until somebody asks for it: the pages, every batch against
 * its checksum, and every event against the indexes that must lead to it. Runs in a reading thread, a stretch at a time.
 */
import type { Seq } from "../../../model/event.js";
import { Batches } from "../batches/batches.js";
import type { Connection } from "../sqlite.js";
import { KEYS_READY, Topics } from "../topics.js";
import { damageIn, EntryChecker, type LoadedBatch } from "./entry-checker.js";

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
const NONE: ReadonlySet<Seq> = new Set();

export class Checker {
  readonly #connection: Connection;
  readonly #topics: Topics;
  readonly #batches: Batches;
  readonly #entries: EntryChecker;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#topics = new Topics(connection);
    this.#batches = new Batches(connection, this.#topics, () => undefined);
    this.#entries = new EntryChecker(connection);
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
      ...this.#connection.snapshot(() => this.#entries.unreadable()),
    ];
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
    this.#entries.refresh();
    const heads = this.#batches.above(part, after, BATCHES_PER_STRETCH);
    const problems = after === 0 ? this.#totals(part) : [];
    let events = 0;
    const loaded: LoadedBatch[] = [];
    for (const head of heads) {
      events += head.count;
      problems.push(...damageIn(() => loaded.push({ head, batch: this.#batches.load(head) })));
    }
    // An index that nothing is found in was told of with the structure.
    damageIn(() => problems.push(...this.#lost(part, keyedTopic, loaded)));
    return { through: heads.at(-1)?.lastSeq ?? null, events, problems };
  }

  /** What the partition says of itself against what is there. */
  #totals(part: number): string[] {
    const said = this.#connection
      .sql("SELECT head, events, bytes, low FROM part WHERE id = ?")
      .get<[head: number, events: number, bytes: number, low: number]>(part);
    if (said === undefined) return [`partition number ${part} has no state`];
    const { head, events, bytes, reversed } = this.#batches.totals(part);
    const { topic, partition } = this.#topics.owner(part);
    const name = `partition ${partition} of "${topic}"`;
    const problems = reversed === 0 ? [] : [`${name} has ${reversed} batches that end before they begin`];
    // What stood at the end may have been removed since.
    if (said[0] < head || said[1] !== events || said[2] !== bytes)
      problems.push(
        `${name} says head ${said[0]}, ${said[1]} events, ${said[2]} bytes; found are ${head}, ${events}, ${bytes}`,
      );
    // Of a removed topic this is all there is to tell that an end was higher (P2).
    if (said[1] > said[0] - said[3] + 1)
      problems.push(`${name} says ${said[1]} events, which do not fit between ${said[3]} and ${said[0]}`);
    return problems;
  }

  /** The events that the indexes do not lead to. */
  #lost(part: number, keyedTopic: number | null, batches: readonly LoadedBatch[]): string[] {
    const byId = this.#entries.notFoundById(part, batches);
    const byKey = keyedTopic === null ? NONE : this.#entries.notFoundByKey(keyedTopic, part, batches);
    const { topic, partition } = this.#topics.owner(part);
    const seqs = [...new Set([...byId, ...byKey])].sort((a, b) => a - b);
    return seqs.map((seq) => {
      const lost = [...(byId.has(seq) ? ["its id"] : []), ...(byKey.has(seq) ? ["its key"] : [])];
      return `event ${seq} of partition ${partition} of "${topic}" is not found by ${lost.join(" or ")}`;
    });
  }
}
