/** Whatever is appended, filed, trimmed and removed by whichever process: rows and sheets together are one log. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draft, PARTITIONS, SheetPlace } from "../../../../test/support/sheet-place.js";
import { systemClock } from "../../../model/clock.js";
import type { EventDraft } from "../../../model/event.js";
import { locate } from "../indexes/id-lookup.js";
import { seqAt } from "./log-reader.js";

type Action =
  | { type: "group"; by: number; appends: { partition: number; ids: IdKind[] }[] }
  | { type: "file"; by: number; sliceBytes: number }
  | { type: "trim" | "remove"; by: number; partition: number; share: number }
  | { type: "reopen"; by: number };
type IdKind = "new" | "text" | "other" | "old" | "known";

const by = fc.integer({ min: 0, max: 1 });
const partition = fc.integer({ min: 0, max: PARTITIONS - 1 });
const ids = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.constant<IdKind>("new") },
    { weight: 1, arbitrary: fc.constantFrom<IdKind>("text", "old", "known") },
    { weight: 4, arbitrary: fc.constantFrom<IdKind>("text", "other") },
  ),
  { minLength: 1, maxLength: 3 },
);
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("group" as const),
      by,
      appends: fc.array(fc.record({ partition, ids }), { minLength: 1, maxLength: 20 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("file" as const),
      by,
      sliceBytes: fc.constantFrom(1, 1_000, 1e9),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom("trim" as const, "remove" as const),
      by,
      partition,
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("reopen" as const), by }) },
);

interface Known {
  readonly id: string;
  readonly seq: number;
  readonly ts: number;
}

/** The same log without sheets, rows or files. */
class Model {
  readonly partitions = Array.from({ length: PARTITIONS }, () => ({ head: 0, events: [] as Known[] }));
  readonly everyId: string[] = [];

  idOf(kind: IdKind, n: number): string {
    if (kind === "text") return `id-${n}`;
    if (kind === "other") return `${String(n).padStart(8, "0")}-0000-4000-8000-000000000000`;
    if (kind === "old") return `01800000-0000-7000-8000-${String(n).padStart(12, "0")}`;
    const known = kind === "known" ? this.everyId[(n * 7) % Math.max(1, this.everyId.length)] : undefined;
    return known ?? systemClock.newId();
  }

  has(id: string): boolean {
    return this.partitions.some(({ events }) => events.some((event) => event.id === id));
  }

  add(partition: number, { id, ts }: EventDraft): void {
    this.everyId.push(id);
    if (this.has(id)) return;
    const log = this.at(partition);
    log.events.push({ id, ts, seq: ++log.head });
  }

  at(partition: number): { head: number; events: Known[] } {
    return this.partitions[partition] as { head: number; events: Known[] };
  }
}

function perform(place: SheetPlace, model: Model, one: Action, step: number): void {
  switch (one.type) {
    case "group": {
      const requests = one.appends.map(({ partition: p, ids: kinds }, i) => {
        const drafts = kinds.map((kind, j) => {
          const n = step * 1_000 + i * 10 + j;
          // Times that go back and forth.
          return draft(n, { id: model.idOf(kind, n), ts: 1_000 + ((n * 7_919) % 5_000) });
        });
        for (const each of drafts) model.add(p, each);
        return place.append(p, drafts, kinds.every((kind) => kind === "new") ? "none" : "all");
      });
      place.group(one.by, requests);
      return;
    }
    case "file":
      place.engine(one.by).file(one.sliceBytes);
      return;
    case "reopen":
      place.reopen(one.by);
      return;
    default: {
      const log = model.at(one.partition);
      const cut = Math.floor(one.share * log.events.length);
      const gone = log.events.filter((_, i) => (one.type === "trim" ? i < cut : i % 3 === cut % 3));
      const last = gone.at(-1)?.seq ?? 0;
      log.events = log.events.filter((event) => !gone.includes(event));
      if (one.type === "trim")
        place.call(one.by, "trim", { topic: "t", partition: one.partition, through: last });
      else
        place.call(one.by, "remove", {
          topic: "t",
          partition: one.partition,
          seqs: gone.map(({ seq }) => seq),
        });
    }
  }
}

function compare(place: SheetPlace, model: Model): void {
  model.partitions.forEach(({ events, head }, p) => {
    expect(place.read(p).map(({ id, seq, ts }) => ({ id, seq, ts }))).toEqual(events);
    for (const ts of [0, 1_500, 3_000, 5_999, 9_000]) {
      const first = events.find((event) => event.ts >= ts)?.seq ?? head + 1;
      expect(place.connection.snapshot(() => seqAt(place.connection, place.batches, place.part(p), ts))).toBe(
        first,
      );
    }
  });
  for (const id of model.everyId) {
    const found = place.connection.snapshot(() => locate(place, id));
    expect(found !== undefined).toBe(model.has(id));
  }
}

describe("a log in rows and sheets", () => {
  it("P2, P3: two processes that append, remove, file and reopen in any order leave what a plain log would", () => {
    fc.assert(
      fc.property(fc.array(action, { minLength: 1, maxLength: 25 }), (actions) => {
        const place = new SheetPlace();
        try {
          const model = new Model();
          actions.forEach((one, step) => {
            perform(place, model, one, step);
            if (step % 4 === 0) compare(place, model);
          });
          compare(place, model);
          expect(place.problems()).toEqual([]);
          place.engine(0).file(1e9);
          place.engine(1).file(1e9);
          compare(place, model);
          expect(place.problems()).toEqual([]);
        } finally {
          place.close();
        }
      }),
      { numRuns: 60 },
    );
  });
});
