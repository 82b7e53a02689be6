import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../model/clock.js";
import { BusError } from "../../model/errors.js";
import type { EventDraft, StoredEvent } from "../../model/event.js";
import { JsonBody } from "../../model/json.js";
import { Leaf } from "../batch-encoder.js";
import { Batches } from "./batches.js";
import { Checker } from "./checker.js";
import { locate } from "./id-lookup.js";
import { HistoryWalk } from "./key-walk.js";
import { readPage, seqAt } from "./log-reader.js";
import type { AppendAnswer, ArgumentOf, OperationName, Request } from "./protocol.js";
import { Connection } from "./sqlite.js";
import { Topics } from "./topics.js";
import { WriteEngine } from "./write-engine.js";

const PARTITIONS = 10;
const OPTIONS = {
  durability: "os",
  busyTimeoutMs: 1_000,
  maxBytes: undefined,
  exclusive: false,
  pollMs: 20,
} as const;

let folder: string;
let files = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "promethean-sheets-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function draft(n: number, o: Partial<EventDraft> = {}): EventDraft {
  const body = JsonBody.ofText(JSON.stringify({ n, text: "some text" }));
  return {
    id: systemClock.newId(),
    ts: 1_000 + n,
    key: `k${n % 3}`,
    meta: undefined,
    body,
    freshId: false,
    ...o,
  };
}

/** A store's file with one topic, two processes that write it and one that reads it. */
class Place {
  readonly path = join(folder, `bus-${++files}.db`);
  readonly engines = [this.#engine(), this.#engine()];
  readonly connection = new Connection(this.path, { busyTimeoutMs: 1_000 });
  readonly topics = new Topics(this.connection);
  readonly batches = new Batches(this.connection, this.topics, () => undefined);
  #number = 0;

  constructor() {
    this.call(0, "defineTopic", { config: { name: "t", partitions: PARTITIONS }, ifAbsent: true });
  }

  #engine(): WriteEngine {
    return new WriteEngine({ ...OPTIONS, path: this.path });
  }

  request<K extends OperationName>(name: K, argument: ArgumentOf<K>): Request {
    return { number: ++this.#number, name, argument };
  }

  append(partition: number, drafts: readonly EventDraft[], check: "all" | "none" = "all"): Request {
    const encoded = new Leaf().encode(drafts);
    return this.request("append", { topic: "t", partition, ...encoded, check, fence: undefined });
  }

  /** One commit by one of the processes. */
  group(by: number, requests: readonly Request[]): unknown[] {
    return this.engine(by)
      .run(requests)
      .replies.map((reply) => {
        if ("error" in reply) throw new Error(reply.error.message);
        return reply.answer;
      });
  }

  call<K extends OperationName>(by: number, name: K, argument: ArgumentOf<K>): unknown {
    return this.group(by, [this.request(name, argument)])[0];
  }

  engine(by: number): WriteEngine {
    return this.engines[by] as WriteEngine;
  }

  reopen(by: number): void {
    this.engine(by).close();
    this.engines[by] = this.#engine();
  }

  part(partition: number): number {
    return this.topics.part("t", partition).part;
  }

  read(partition: number, limit = 7): StoredEvent[] {
    const from = { topic: "t", partition, part: this.part(partition) };
    const all: StoredEvent[] = [];
    return this.connection.snapshot(() => {
      for (let after = 0; ; ) {
        const { events, through } = readPage(this.connection, this.batches, from, { after, limit });
        all.push(...events);
        if (events.length === 0) return all;
        after = through;
      }
    });
  }

  problems(): string[] {
    const checker = new Checker(this.connection);
    const problems = checker.structure();
    for (const stretch of checker.partitions().stretches) {
      for (let after: number | null = 0; after !== null; ) {
        const checked = this.connection.snapshot(() => checker.next({ ...stretch, after: after as number }));
        problems.push(...checked.problems);
        after = checked.through;
      }
    }
    return problems;
  }

  count(table: "sheet" | "batch" | "filed_id" | "id_index"): number {
    return Number(this.connection.prepare(`SELECT count(*) FROM ${table}`).get()?.[0]);
  }

  close(): void {
    for (const engine of this.engines) engine.close();
    this.connection.close();
  }
}

/** One event for each partition, in one commit, with ids that the bus has just made. */
function oneEach(place: Place, by: number, n: number): EventDraft[] {
  const drafts = Array.from({ length: PARTITIONS }, (_, p) => draft(n * PARTITIONS + p));
  place.group(
    by,
    drafts.map((one, p) => place.append(p, [one], "none")),
  );
  return drafts;
}

describe("small batches of many partitions in one commit", () => {
  it("stand in one row, and become one row for each partition when they are filed", () => {
    const place = new Place();
    const drafts = [0, 1, 2, 3].flatMap((n) => oneEach(place, n % 2, n));
    expect([place.count("sheet"), place.count("batch")]).toEqual([4, 0]);
    const before = place.read(3).map(({ id }) => id);
    place.engine(0).file();
    expect([place.count("sheet"), place.count("batch")]).toEqual([0, PARTITIONS]);
    expect(place.read(3).map(({ id }) => id)).toEqual(before);
    expect(before).toEqual(drafts.filter((_, i) => i % PARTITIONS === 3).map(({ id }) => id));
    expect(place.problems()).toEqual([]);
    place.close();
  });

  it("P2: a round of filing that one process began is finished by another, with reads in between", () => {
    const place = new Place();
    for (let n = 0; n < 3; n++) oneEach(place, 0, n);
    const seqs = (): number[][] =>
      Array.from({ length: PARTITIONS }, (_, p) => place.read(p).map(({ seq }) => seq));
    const expected = Array.from({ length: PARTITIONS }, () => [1, 2, 3]);
    // First the ids of each sheet are noted: an id then has an entry although it stands in a sheet.
    for (let sheets = 1; sheets <= 3; sheets++) {
      place.engine(0).file(1);
      expect([place.count("filed_id"), place.count("batch")]).toEqual([sheets * PARTITIONS, 0]);
      expect(place.problems()).toEqual([]);
    }
    for (let slice = 0; slice < PARTITIONS; slice++) {
      place.engine(slice % 2).file(1);
      expect(seqs()).toEqual(expected);
      expect(place.problems()).toEqual([]);
      if (slice === 4) place.reopen(0);
    }
    place.engine(0).file(1);
    expect(place.count("sheet")).toBe(0);
    place.close();
  });

  it("P3: their ids are found before and after they are filed, and go when they are removed", () => {
    const place = new Place();
    const drafts = oneEach(place, 0, 0);
    const again = (by: number): unknown[] =>
      place.group(
        by,
        drafts.map((one, p) => place.append((p + 1) % PARTITIONS, [one])),
      );
    const found = drafts.map((_, p) => ({ duplicates: [{ index: 0, event: { partition: p, seq: 1 } }] }));
    expect(again(0)).toMatchObject(found);
    expect(again(1)).toMatchObject(found);
    place.engine(0).file();
    expect(place.count("filed_id")).toBe(PARTITIONS);
    expect(again(1)).toMatchObject(found);
    place.reopen(0);
    expect(again(0)).toMatchObject(found);
    for (let p = 0; p < PARTITIONS; p++) place.call(0, "trim", { topic: "t", partition: p, through: 1 });
    expect(place.count("filed_id")).toBe(0);
    place.close();
  });

  it("P3: an id that comes twice in one commit, in different requests, is added once", () => {
    const place = new Place();
    const one = draft(1);
    const answers = place.group(
      0,
      Array.from({ length: PARTITIONS }, (_, p) => place.append(p, [p < 9 ? draft(p + 10, {}) : one])).concat(
        place.append(0, [one]),
      ),
    ) as AppendAnswer[];
    expect(answers.at(-1)).toMatchObject({ duplicates: [{ event: { partition: 9, seq: 1 } }] });
    expect(place.problems()).toEqual([]);
    place.close();
  });

  it("a topic that gets its index by key afterwards is filed first, and keeps to rows from then on", () => {
    const place = new Place();
    for (let n = 0; n < 3; n++) oneEach(place, 0, n);
    place.call(0, "defineTopic", {
      config: { name: "t", partitions: PARTITIONS, keyed: true },
      ifAbsent: false,
    });
    for (let p = 0; p < PARTITIONS; p++)
      place.call(0, "fillKeys", { topic: "t", part: place.part(p), after: 0 });
    place.call(0, "keysFilled", { topic: "t" });
    oneEach(place, 1, 3);
    expect(place.count("sheet")).toBe(0);
    const row = place.topics.reload("t");
    if (row === undefined) throw new Error("the topic is gone");
    const walk = new HistoryWalk(row, "k1", { limit: 100 });
    while (!walk.step(place.connection, place.batches)) {}
    expect(walk.events).toHaveLength(13);
    expect(place.problems()).toEqual([]);
    place.close();
  });

  it("P14: a sheet with damaged bytes is not served, before and after it is filed; other sheets are", () => {
    const place = new Place();
    for (let n = 0; n < 3; n++) oneEach(place, 0, n);
    const spoiled = place.connection.prepare("SELECT data FROM sheet WHERE id = 2").get()?.[0] as Buffer;
    spoiled.writeUInt8(spoiled.readUInt8(40) ^ 1, 40);
    place.connection.prepare("UPDATE sheet SET data = ? WHERE id = 2").run(spoiled);
    const damage = (): unknown => {
      try {
        return place.read(4);
      } catch (error) {
        return BusError.is(error) ? error.details : error;
      }
    };
    expect(damage()).toMatchObject({ partition: 4, firstSeq: 2, lastSeq: 2 });
    expect(place.problems()).toHaveLength(PARTITIONS);
    // The process that wrote it has it in memory, undamaged.
    place.engine(1).file();
    expect([place.count("sheet"), place.count("batch")]).toEqual([0, 3 * PARTITIONS]);
    expect(damage()).toMatchObject({ partition: 4, firstSeq: 2, lastSeq: 2 });
    expect(place.call(0, "trim", { topic: "t", partition: 4, through: 2 })).toMatchObject({ removed: 2 });
    expect(place.read(4).map(({ seq }) => seq)).toEqual([3]);
    place.close();
  });

  it("are filed by the process that wrote them without being read back, also after another one wrote in between", () => {
    const place = new Place();
    const drafts = [0, 0, 1, 0, 0].flatMap((writer, n) => oneEach(place, writer, n));
    // Those up to the other one's are known by reading; what comes then is not read again.
    expect(place.engine(0).isFilingDue).toBe(false);
    drafts.push(...oneEach(place, 0, 5));
    place.connection.exec("UPDATE sheet SET directory = x'0123', data = x'' WHERE id = 6");
    place.engine(0).file();
    expect(place.problems()).toEqual([]);
    const read = Array.from({ length: PARTITIONS }, (_, p) => place.read(p)).flat();
    expect(read.map(({ id }) => id).sort()).toEqual(drafts.map(({ id }) => id).sort());
    place.close();
  });

  it("P2, P14: a sheet that was undone is not remembered", () => {
    const place = new Place();
    oneEach(place, 0, 0);
    const undone = Array.from({ length: PARTITIONS }, (_, p) => place.append(p, [draft(p)], "none"));
    // States of partitions are written behind the sheet.
    place.connection.exec("CREATE TRIGGER no BEFORE INSERT ON part BEGIN SELECT RAISE(ABORT, 'no'); END");
    expect(
      place
        .engine(0)
        .run(undone)
        .replies.every((reply) => "error" in reply),
    ).toBe(true);
    place.connection.exec("DROP TRIGGER no");
    oneEach(place, 0, 1);
    place.engine(0).file();
    expect(place.read(3).map(({ seq }) => seq)).toEqual([1, 2]);
    expect(place.problems()).toEqual([]);
    place.close();
  });

  it("P14: a sheet with a damaged directory leaves a gap that is noticed, and is set aside", () => {
    const place = new Place();
    for (let n = 0; n < 3; n++) oneEach(place, 0, n);
    place.connection.exec("UPDATE sheet SET directory = x'0123' WHERE id = 2");
    for (const filed of [false, true]) {
      expect(() => place.read(0)).toThrow(/events 2 to 2 of partition 0 of "t" are damaged/);
      expect(place.problems()).toContain("the directory of sheet 2 is damaged");
      // The process that wrote it has it in memory, undamaged.
      if (!filed) place.engine(1).file();
    }
    expect(place.connection.prepare("SELECT id FROM sheet").all()).toEqual([[-2]]);
    oneEach(place, 1, 4);
    place.call(1, "trim", { topic: "t", partition: 0, through: 2 });
    expect(place.read(0).map(({ seq }) => seq)).toEqual([3, 4]);
    place.close();
  });
});

type Action =
  | { type: "group"; by: number; appends: { partition: number; ids: IdKind[] }[] }
  | { type: "file"; by: number; sliceBytes: number }
  | { type: "trim" | "remove"; by: number; partition: number; share: number }
  | { type: "reopen"; by: number };
type IdKind = "new" | "text" | "old" | "known";

const by = fc.integer({ min: 0, max: 1 });
const partition = fc.integer({ min: 0, max: PARTITIONS - 1 });
const ids = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.constant<IdKind>("new") },
    { weight: 1, arbitrary: fc.constantFrom<IdKind>("text", "old", "known") },
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

function perform(place: Place, model: Model, one: Action, step: number): void {
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

function compare(place: Place, model: Model): void {
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
    const found = place.connection.snapshot(() => locate(place.connection, place.batches, id));
    expect(found !== undefined).toBe(model.has(id));
  }
}

describe("a log in rows and sheets", () => {
  it("P2, P3: two processes that append, remove, file and reopen in any order leave what a plain log would", () => {
    fc.assert(
      fc.property(fc.array(action, { minLength: 1, maxLength: 25 }), (actions) => {
        const place = new Place();
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
