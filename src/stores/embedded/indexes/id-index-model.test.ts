/** Whatever is appended, removed, undone and put in order by whichever process: each id of the log is found, and no other. */
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
import { draft, SheetPlace } from "../../../../test/support/sheet-place.js";
import type { AppendAnswer, Request } from "../protocol.js";
import { locate } from "./id-lookup.js";

type Action =
  | { type: "append"; by: number; fresh: number; again: number; failing: boolean }
  | { type: "order"; by: number; slices: number }
  | { type: "trim" | "remove"; by: number; share: number }
  | { type: "reopen"; by: number };

const append = fc.record({
  type: fc.constant("append" as const),
  by,
  fresh: fc.integer({ min: 0, max: 40 }),
  again: fc.integer({ min: 0, max: 3 }),
  failing: fc.boolean(),
});
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: append },
  { weight: 5, arbitrary: order },
  { weight: 1, arbitrary: cut },
  { weight: 1, arbitrary: reopen },
);

/** What was seen of the index: a test that sees no merge says nothing. */
const seen = { runs: 0, underWay: 0, merged: 0 };

class Model implements IndexModel<Action> {
  readonly place = new SheetPlace();
  readonly everyId: string[] = [];
  /** Seqs by id, of what is in the log. */
  readonly log = new Map<string, number>();
  #head = 0;

  /** Half of them texts, half of them UUIDs. */
  #newId(): string {
    const n = this.everyId.length;
    const id = n % 2 === 0 ? `order-${n}` : `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
    this.everyId.push(id);
    return id;
  }

  append({ by: engine, fresh, again, failing }: Extract<Action, { type: "append" }>): void {
    const known = Array.from(
      { length: again },
      (_, i) => this.everyId[(i * 31 + this.#head) % this.everyId.length],
    );
    const ids = [
      ...known.filter((id) => id !== undefined),
      ...Array.from({ length: fresh }, () => this.#newId()),
    ];
    if (ids.length === 0) return;
    const requests = this.#inTwo(ids).map((some) =>
      this.place.append(
        0,
        some.map((id, n) => draft(n, { id })),
      ),
    );
    // One that fails in between undoes what it did, and nothing else.
    if (failing) requests.splice(1, 0, this.#impossible());
    const { replies } = this.place.engine(engine).run(requests);
    const duplicates = replies
      .filter(({ number }) => requests.find((request) => request.number === number)?.name === "append")
      .map((reply) => {
        if ("error" in reply) throw new Error(reply.error.message);
        return ((reply.answer as AppendAnswer).duplicates ?? []).length;
      })
      .reduce((sum, count) => sum + count, 0);
    expect(duplicates).toBe(ids.filter((id, i) => this.log.has(id) || ids.indexOf(id) < i).length);
    for (const id of ids) if (!this.log.has(id)) this.log.set(id, ++this.#head);
  }

  #inTwo(ids: readonly string[]): string[][] {
    const middle = Math.ceil(ids.length / 2);
    return [ids.slice(0, middle), ids.slice(middle)].filter(({ length }) => length > 0);
  }

  #impossible(): Request {
    return this.place.request("trim", { topic: "none", partition: 0, through: 1 });
  }

  order(engine: number, slices: number): void {
    for (let slice = 0; slice < slices; slice++) {
      this.place.engine(engine).file(1e9);
      this.#see();
    }
  }

  #see(): void {
    const { connection, index } = this.place;
    connection.snapshot(() => index.refresh());
    for (const run of index.runs.all()) {
      seen.runs++;
      if (run.through !== undefined) seen.underWay++;
      if (run.isSettled && run.count > 50) seen.merged++;
    }
  }

  cut(engine: number, type: "trim" | "remove", share: number): void {
    const events = [...this.log];
    const count = Math.floor(share * events.length);
    const gone = events.filter((_, i) => (type === "trim" ? i < count : i % 3 === count % 3));
    for (const [id] of gone) this.log.delete(id);
    const seqs = gone.map(([, seq]) => seq);
    if (type === "remove") this.place.call(engine, "remove", { topic: "t", partition: 0, seqs });
    else this.place.call(engine, "trim", { topic: "t", partition: 0, through: seqs.at(-1) ?? 0 });
  }

  perform(one: Action): void {
    if (one.type === "append") this.append(one);
    else if (one.type === "order") this.order(one.by, one.slices);
    else if (one.type === "reopen") this.place.reopen(one.by);
    else this.cut(one.by, one.type, one.share);
  }

  finish(): void {
    while (this.place.engine(0).isFilingDue) this.order(0, 1);
  }

  compare(): void {
    const { place } = this;
    place.connection.snapshot(() => {
      for (const id of this.everyId) expect(locate(place, id)?.seq).toBe(this.log.get(id));
    });
  }
}

it("P3: two processes that append, fail, remove, reopen and put the index in order find each id, and no other", () => {
  expectFound(action, () => new Model());
});

afterAll(() => {
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
