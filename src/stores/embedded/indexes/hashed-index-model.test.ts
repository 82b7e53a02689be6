/**
 * Both indexes by themselves, against a plain map: whatever is added, taken back, undone, trimmed and merged by whichever process, who
 * looks finds each entry, also one who looked long ago and not since.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { by } from "../../../../test/support/index-actions.js";
import { prepareSchema } from "../schema.js";
import { Connection } from "../sqlite.js";
import { IdIndex, type Place } from "./id-index.js";
import { HASHES } from "./index-hash.js";
import type { Run } from "./index-runs.js";
import { IndexWriter } from "./index-writer.js";
import { KeyIndex } from "./key-index.js";

/** Each merge takes many slices, and what it makes is soon merged itself. */
const SIZES = { notes: 6, chunk: 2, fanout: 2, slice: 8, mergedPerNew: 1 };
const PARTS = 3;
/** Few, so that many entries have one. */
const SOME_HASHES = Float64Array.from({ length: 40 }, (_, n) => Math.floor(((n * 0.618) % 1) * HASHES));

interface Change {
  readonly type: "change";
  readonly by: number;
  readonly requests: readonly {
    readonly added: readonly number[];
    readonly removed: number;
    readonly isUndone: boolean;
  }[];
  readonly isUndone: boolean;
}
type Action =
  | Change
  | { type: "order"; by: number; slices: number; isUndone: boolean }
  | { type: "trim"; by: number; part: number; share: number; isUndone: boolean }
  | { type: "reopen"; by: number }
  | { type: "look"; who: number };

const isUndone = fc.nat(4).map((n) => n === 0);
const request = fc.record({
  added: fc.array(fc.nat(SOME_HASHES.length - 1), { maxLength: 8, size: "max" }),
  removed: fc.constantFrom(0, 0, 0, 1, 4),
  isUndone,
});
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant("change" as const),
      by,
      requests: fc.array(request, { minLength: 1, maxLength: 3, size: "max" }),
      isUndone,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant("order" as const),
      by,
      slices: fc.integer({ min: 1, max: 3 }),
      isUndone,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("trim" as const),
      by,
      part: fc.nat(PARTS - 1),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      isUndone,
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("reopen" as const), by }) },
  { weight: 8, arbitrary: fc.record({ type: fc.constant("look" as const), who: fc.nat(11) }) },
);

/** What was seen of runs by those who look again: a test in which none was being made, and merged itself since, says nothing. */
const seen = { underWay: 0, completed: 0, mergedAgain: 0, undone: 0 };

/** What stands in an index. */
class Entries {
  /** Hashes by place. */
  readonly hashes: Map<number, number>;
  readonly lows: number[];
  readonly heads: number[];

  constructor(from?: Entries) {
    this.hashes = new Map(from?.hashes);
    this.lows = from === undefined ? new Array<number>(PARTS).fill(1) : [...from.lows];
    this.heads = from === undefined ? new Array<number>(PARTS).fill(0) : [...from.heads];
  }

  /** The places under each hash, in order. */
  byHash(): Map<number, number[]> {
    const places = new Map<number, number[]>();
    for (const place of [...this.hashes.keys()].sort((a, b) => a - b)) {
      const hash = this.hashes.get(place) as number;
      const others = places.get(hash);
      if (others === undefined) places.set(hash, [place]);
      else others.push(place);
    }
    return places;
  }
}

/** In the order of the index by key. */
const placeOf = (part: number, seq: number): number => seq * PARTS + part;
const partOf = (place: number): number => place % PARTS;
const seqOf = (place: number): number => Math.floor(place / PARTS);

type Writers = readonly [IndexWriter<IdIndex>, IndexWriter<KeyIndex>];
type Reader = readonly [IdIndex, KeyIndex];

function runsOf(reader: Reader): Run[] {
  return reader.flatMap(({ runs }) => [...runs.all()]);
}

interface Process {
  readonly connection: Connection;
  readonly writers: Writers;
  version: number;
}

class Model {
  readonly #folder = mkdtempSync(join(tmpdir(), "promethean-indexes-"));
  readonly #path = join(this.#folder, "bus.db");
  readonly #reading = this.#connect();
  readonly #processes = [this.#connect(), this.#connect()].map((connection) => this.#process(connection));
  readonly #readers: (Reader | undefined)[] = [];
  #entries = new Entries();

  #connect(): Connection {
    const connection = new Connection(this.#path, { busyTimeoutMs: 1_000 });
    connection.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
    prepareSchema(connection);
    return connection;
  }

  #process(connection: Connection): Process {
    const o = {
      isGone: (part: number, seq: number) => seq < (this.#entries.lows[part] as number),
      sizes: SIZES,
    };
    const writers = [
      new IndexWriter(connection, new IdIndex(connection), o),
      new IndexWriter(connection, new KeyIndex(connection), o),
    ] as const;
    return { connection, writers, version: -1 };
  }

  perform(one: Action): void {
    if (one.type === "change")
      this.#transact(one, (writers, connection) => this.#change(one, writers, connection));
    else if (one.type === "order") for (let slice = 0; slice < one.slices; slice++) this.#order(one);
    else if (one.type === "trim") this.#transact(one, (writers) => this.#trim(one, writers));
    else if (one.type === "reopen") {
      this.#processes[one.by] = this.#process((this.#processes[one.by] as Process).connection);
    } else this.#lookOf(one.who);
  }

  /** As the writing thread goes about it. */
  #transact(
    o: { by: number; isUndone: boolean },
    work: (writers: Writers, connection: Connection) => void,
  ): void {
    const process = this.#processes[o.by] as Process;
    const { connection, writers } = process;
    const before = this.#entries;
    this.#entries = new Entries(before);
    connection.exec("BEGIN IMMEDIATE");
    for (const writer of writers) writer.begin();
    const version = Number(connection.pragma("data_version"));
    if (version !== process.version) for (const writer of writers) writer.refresh();
    process.version = version;
    work(writers, connection);
    this.#flush(writers, o.isUndone);
    connection.exec(o.isUndone ? "ROLLBACK" : "COMMIT");
    if (!o.isUndone) return;
    for (const writer of writers) writer.forget();
    this.#entries = before;
    seen.undone++;
  }

  /** What is undone had come to that, or had not. */
  #flush(writers: Writers, isUndone: boolean): boolean {
    if (isUndone && this.#entries.hashes.size % 2 === 0) return false;
    for (const writer of writers) writer.flush();
    return true;
  }

  #change({ requests }: Change, writers: Writers, connection: Connection): void {
    for (const { added, removed, isUndone } of requests) {
      const before = this.#entries;
      this.#entries = new Entries(before);
      for (const writer of writers) writer.flush();
      connection.exec("SAVEPOINT request");
      for (const [i, n] of added.entries()) this.#add(SOME_HASHES[n] as number, (n + i) % PARTS, writers);
      this.#remove(removed, writers);
      if (this.#flush(writers, isUndone))
        this.#expectFound(writers.map(({ index }) => index) as unknown as Reader);
      connection.exec(isUndone ? "ROLLBACK TO request; RELEASE request" : "RELEASE request");
      if (!isUndone) continue;
      for (const writer of writers) writer.forget();
      this.#entries = before;
    }
  }

  #add(hash: number, part: number, writers: Writers): void {
    const { heads, hashes } = this.#entries;
    const seq = (heads[part] as number) + 1;
    heads[part] = seq;
    hashes.set(placeOf(part, seq), hash);
    for (const writer of writers) writer.add(hash, part, seq);
  }

  #remove(count: number, writers: Writers): void {
    const { hashes } = this.#entries;
    const every = Math.ceil(hashes.size / Math.max(1, count));
    if (count === 0) return;
    for (const [place, hash] of [...hashes].filter((_, i) => i % every === 0)) {
      hashes.delete(place);
      for (const writer of writers) writer.remove(hash, partOf(place), seqOf(place));
    }
  }

  #trim({ part, share }: Extract<Action, { type: "trim" }>, writers: Writers): void {
    const { hashes, lows, heads } = this.#entries;
    lows[part] = Math.floor(
      (lows[part] as number) + share * ((heads[part] as number) - (lows[part] as number)),
    );
    for (const place of [...hashes.keys()])
      if (partOf(place) === part && seqOf(place) < (lows[part] as number)) {
        hashes.delete(place);
        for (const writer of writers) writer.countDead(1);
      }
  }

  #order(one: { by: number; isUndone: boolean }): void {
    this.#transact(one, (writers) => {
      for (const writer of writers) if (writer.isDue) writer.slice();
    });
  }

  /** One who looked before, if there is one, or one more. */
  #lookOf(who: number): void {
    this.#readers[who] ??= [new IdIndex(this.#reading), new KeyIndex(this.#reading)];
    const reader = this.#readers[who] as Reader;
    const beingMade = runsOf(reader).filter(({ through }) => through !== undefined);
    this.#look(reader);
    seen.underWay += beingMade.length;
    for (const run of beingMade) if (run.through === undefined) seen.completed++;
    for (const run of beingMade) if (run.into !== undefined) seen.mergedAgain++;
  }

  lookAgain(): void {
    for (const who of this.#readers.keys()) this.#lookOf(who);
  }

  #look(reader: Reader): void {
    this.#reading.snapshot(() => {
      for (const index of reader) index.refresh();
      this.#expectFound(reader);
    });
  }

  #expectFound([ids, keys]: Reader): void {
    const marks = ids.marks(SOME_HASHES);
    const expected = this.#entries.byHash();
    SOME_HASHES.forEach((hash, n) => {
      const places = expected.get(hash) ?? [];
      const middle = seqOf(places[places.length >> 1] ?? 0);
      const isThere = (place: number): boolean => this.#entries.hashes.get(place) === hash;
      const among = (found: Iterable<Place>): number[] =>
        Array.from(found, ({ part, seq }) => placeOf(part, seq)).filter(isThere);
      const found = [
        marks[n] === 1 ? [...new Set(among(ids.places(hash)))].sort((a, b) => a - b) : [],
        among(keys.places(hash, 0, false)),
        among(keys.places(hash, Number.MAX_SAFE_INTEGER, true)).reverse(),
        among(keys.places(hash, middle, false)),
        among(keys.places(hash, middle, true)).reverse(),
      ];
      // What is asked so often is compared as text first.
      const wanted = [
        places,
        places,
        places,
        places.filter((place) => seqOf(place) >= middle),
        places.filter((place) => seqOf(place) <= middle),
      ];
      if (String(found) !== String(wanted)) expect(found).toEqual(wanted);
    });
  }

  close(): void {
    for (const { connection } of this.#processes) connection.close();
    this.#reading.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

it("P3, P11: two processes that add, take back, undo, trim and merge leave each entry to be found, also by one who looked long ago", () => {
  fc.assert(
    fc.property(fc.array(action, { minLength: 40, maxLength: 80, size: "max" }), (actions) => {
      const model = new Model();
      try {
        for (const one of actions) model.perform(one);
        model.lookAgain();
      } finally {
        model.close();
      }
    }),
    // Each takes a while: to look for a smaller one that fails would take long.
    { numRuns: 20, endOnFailure: true },
  );
});

afterAll(() => {
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
