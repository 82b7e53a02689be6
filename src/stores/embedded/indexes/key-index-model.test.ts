/** Whatever is appended, removed, put in order and asked for anew, by whichever process: each key has its history, from either end. */
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import {
  by,
  cut,
  expectFound,
  type IndexModel,
  order,
  reopen,
} from "../../../../test/support/index-actions.js";
import { draft, PARTITIONS, SheetPlace } from "../../../../test/support/sheet-place.js";
import type { HistoryOptions } from "../../../ports/log.js";
import { HistoryWalk } from "../log/key-walk.js";
import type { Request } from "../protocol.js";
import { KEYS_READY } from "../topics.js";

const KEYS = 6;
/** Few, so that one key meets itself in all of them. */
const USED = 3;

type Action =
  | { type: "append"; by: number; partition: number; keys: number[]; failing: boolean }
  | { type: "order"; by: number; slices: number }
  | { type: "trim" | "remove"; by: number; share: number }
  | { type: "reopen"; by: number }
  | { type: "define"; by: number; keyed: boolean };

const append = fc.record({
  type: fc.constant("append" as const),
  by,
  partition: fc.integer({ min: 0, max: USED - 1 }),
  keys: fc.array(fc.integer({ min: 0, max: KEYS - 1 }), { minLength: 1, maxLength: 30 }),
  failing: fc.boolean(),
});
const define = fc.record({ type: fc.constant("define" as const), by, keyed: fc.boolean() });
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: append },
  { weight: 5, arbitrary: order },
  { weight: 2, arbitrary: cut },
  { weight: 1, arbitrary: reopen },
  { weight: 1, arbitrary: define },
);

interface Known {
  readonly partition: number;
  readonly seq: number;
  readonly key: string;
}

/** What was seen of the index: a test that sees no merge, and no entry taken back, says nothing. */
const seen = { underWay: 0, merged: 0, removals: 0, histories: 0 };

class Model implements IndexModel<Action> {
  readonly place = new SheetPlace();
  log: Known[] = [];
  readonly #heads = new Array<number>(PARTITIONS).fill(0);
  #isKeyed = false;

  constructor() {
    this.define(0, true);
  }

  perform(one: Action): void {
    if (one.type === "append") this.#append(one);
    else if (one.type === "order") this.#order(one.by, one.slices);
    else if (one.type === "reopen") this.place.reopen(one.by);
    else if (one.type === "define") this.define(one.by, one.keyed);
    else this.#cut(one.by, one.type, one.share);
  }

  define(engine: number, keyed: boolean): void {
    const { place } = this;
    place.call(engine, "defineTopic", {
      config: { name: "t", partitions: PARTITIONS, keyed },
      ifAbsent: false,
    });
    if (keyed && !this.#isKeyed) this.#fill(engine);
    this.#isKeyed = keyed;
  }

  #fill(engine: number): void {
    const { place } = this;
    const filling = place.topics.reload("t")?.keys ?? 0;
    for (let p = 0; p < PARTITIONS; p++) {
      for (let after: number | null = 0; after !== null; ) {
        const part = place.part(p);
        const answer: unknown = place.call(engine, "fillKeys", { topic: "t", part, after, filling });
        after = (answer as { through: number | null }).through;
      }
    }
    place.call(engine, "keysFilled", { topic: "t", filling });
  }

  /** As much, and put in order to the end, that runs are merged whatever was done before. */
  finish(): void {
    this.define(0, true);
    const keys = Array.from({ length: KEYS }, (_, n) => n);
    for (let n = 0; n < 24; n++) {
      this.#append({ type: "append", by: n % 2, partition: n % USED, keys, failing: false });
      this.#order(n % 2, 1);
    }
    while (this.place.engine(0).isFilingDue) this.#order(0, 1);
  }

  #append({ by: engine, partition, keys, failing }: Extract<Action, { type: "append" }>): void {
    const drafts = keys.map((n) => draft(n, { key: `k${n}` }));
    const requests = [this.place.append(partition, drafts)];
    // One that fails beside it undoes what it did, and nothing else.
    if (failing) requests.push(this.#impossible());
    const { replies } = this.place.engine(engine).run(requests);
    expect(replies.map((reply) => "error" in reply)).toEqual(failing ? [false, true] : [false]);
    for (const n of keys) {
      this.#heads[partition] = (this.#heads[partition] as number) + 1;
      this.log.push({ partition, seq: this.#heads[partition] as number, key: `k${n}` });
    }
  }

  #impossible(): Request {
    return this.place.request("trim", { topic: "none", partition: 0, through: 1 });
  }

  #order(engine: number, slices: number): void {
    for (let slice = 0; slice < slices; slice++) {
      this.place.engine(engine).file(1e9);
      this.#see();
    }
  }

  #see(): void {
    const { connection, keys } = this.place;
    connection.snapshot(() => keys.refresh());
    for (const run of keys.runs.all()) {
      if (run.through !== undefined) seen.underWay++;
      if (run.isSettled && run.count > 20) seen.merged++;
    }
  }

  #cut(engine: number, type: "trim" | "remove", share: number): void {
    for (let partition = 0; partition < USED; partition++) {
      const events = this.log.filter((event) => event.partition === partition);
      const count = Math.floor(share * events.length);
      const gone = events.filter((_, i) => (type === "trim" ? i < count : i % 3 === count % 3));
      const seqs = gone.map(({ seq }) => seq);
      if (type === "remove") {
        this.place.call(engine, "remove", { topic: "t", partition, seqs });
        seen.removals += seqs.length;
      } else this.place.call(engine, "trim", { topic: "t", partition, through: seqs.at(-1) ?? 0 });
      this.log = this.log.filter((event) => !gone.includes(event));
    }
  }

  /** Of every key, all of it, and a few from either end of a part of it. */
  compare(): void {
    for (let n = 0; n < KEYS; n++) {
      const [after, through] = [n * 3, 20 + n * 11];
      this.#compareOne(`k${n}`, { limit: 1_000 });
      this.#compareOne(`k${n}`, { limit: 1_000, newestFirst: true });
      this.#compareOne(`k${n}`, { limit: 1 + n, after, through });
      this.#compareOne(`k${n}`, { limit: 1 + n, after, through, newestFirst: true });
    }
  }

  #compareOne(wanted: string, o: HistoryOptions): void {
    const { connection, topics } = this.place;
    const row = topics.reload("t");
    if (row === undefined) throw new Error("the topic is gone");
    const walk = new HistoryWalk(row, wanted, o);
    while (!connection.snapshot(() => walk.step(this.place))) {}
    const { after = 0, through = Number.POSITIVE_INFINITY, newestFirst = false } = o;
    const expected = this.log
      .filter((event) => event.key === wanted && event.seq > after && event.seq <= through)
      .sort((a, b) => (newestFirst ? -1 : 1) * (a.seq - b.seq || a.partition - b.partition))
      .slice(0, o.limit);
    if (row.keys === KEYS_READY) seen.histories++;
    expect(walk.events.map(({ partition, seq }) => [partition, seq])).toEqual(
      expected.map(({ partition, seq }) => [partition, seq]),
    );
  }
}

it("P11: two processes that append, fail, remove, reopen, redefine and put the index in order find each key's history", () => {
  expectFound(action, () => new Model());
});

afterAll(() => {
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
