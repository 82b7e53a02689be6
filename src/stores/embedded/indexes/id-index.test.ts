import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { draft, INDEX_SIZES, SheetPlace } from "../../../../test/support/sheet-place.js";
import type { AppendAnswer, Reply } from "../protocol.js";
import { Connection } from "../sqlite.js";
import { IdIndex } from "./id-index.js";
import { locate } from "./id-lookup.js";
import { EntryList, encodeEntries } from "./index-entries.js";
import { IndexWriter } from "./index-writer.js";

let place: SheetPlace;
beforeEach(() => {
  place = new SheetPlace();
});
afterEach(() => place.close());

function ids(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, n) => `order-${from + n}`);
}

function append(some: readonly string[]): Reply {
  const request = place.append(
    0,
    some.map((id, n) => draft(n, { id })),
  );
  return place.engine(0).run([request]).replies[0] as Reply;
}

function duplicatesOf(reply: Reply): number {
  if ("error" in reply) throw new Error(reply.error.message);
  return ((reply.answer as AppendAnswer).duplicates ?? []).length;
}

function putInOrder(): void {
  while (place.engine(0).isFilingDue) place.engine(0).file();
}

function entries(): number {
  const [count] = place.connection.sql("SELECT coalesce(sum(count), 0) FROM id_run").get<[number]>() ?? [-1];
  return count;
}

function flipABitOfEachChunk(): void {
  const chunks = place.connection.sql("SELECT rowid, entries FROM id_chunk").all<[number, Buffer]>();
  for (const [row, entries] of chunks) {
    entries[20] = (entries[20] as number) ^ 1;
    place.connection.sql("UPDATE id_chunk SET entries = ? WHERE rowid = ?").run(entries, row);
  }
}

/** What has just looked for all of the ids, if a run with chunks was being made then; it comes to their first chunks last. */
function readerOfARunBeingMade(count: number): IdIndex | undefined {
  const index = new IdIndex(place.connection);
  place.connection.snapshot(() => index.refresh());
  expect(lookFor(idsByHash(index, count).reverse(), index)).toEqual([]);
  const runs = [...index.runs.all()];
  return runs.some(({ through, chunks }) => through !== undefined && chunks > 0) ? index : undefined;
}

/** In the order in which they stand in a run. */
function idsByHash({ hash }: IdIndex, count: number): string[] {
  return ids(count).sort((a, b) => hash.ofText(a) - hash.ofText(b));
}

/** Those that an index does not lead to. */
function lookFor(some: readonly string[], index: IdIndex): string[] {
  return some.filter(
    (id) => place.connection.snapshot(() => locate({ ...place, index }, id)?.seq) !== Number(id.slice(6)) + 1,
  );
}

function isBeingMade(run: number): boolean {
  const row = place.connection.sql("SELECT through_hash FROM id_run WHERE id = ?").get(run);
  return row !== undefined && row[0] !== null;
}

function firstChunkOf(run: number): number | undefined {
  const row = place.connection
    .sql("SELECT min(number) FROM id_chunk WHERE run = ?")
    .get<[number | null]>(run);
  return row?.[0] ?? undefined;
}

function found(id: string): number | undefined {
  return place.connection.snapshot(() => locate(place, id)?.seq);
}

describe("the index of ids", () => {
  it("P3: notes become runs, runs become larger ones, and each id is found all along", () => {
    const sizes: number[] = [];
    for (let from = 0; from < 600; from += 6) {
      expect(duplicatesOf(append(ids(6, from)))).toBe(0);
      place.engine(0).file();
      expect(duplicatesOf(append(ids(6, Math.floor(from / 2))))).toBe(6);
      sizes.push([...place.index.runs.all()].length);
      expect(found(`order-${from}`)).toBe(from + 1);
    }
    putInOrder();
    for (let n = 0; n < 600; n++) expect(found(`order-${n}`)).toBe(n + 1);
    expect(Math.max(...sizes)).toBeLessThan(30);
    expect(place.connection.sql("SELECT max(count) FROM id_run").get()?.[0]).toBeGreaterThan(300);
  });

  it("P3: each id is found by one who looked when a run was being made, and not until it was being merged itself", () => {
    let early: IdIndex | undefined;
    for (let count = 8; ; count += 8) {
      append(ids(8, count - 8));
      place.engine(0).file();
      early ??= readerOfARunBeingMade(count);
      const made = [...(early?.runs.all() ?? [])].find(({ through }) => through !== undefined);
      if (early === undefined || made === undefined || isBeingMade(made.id)) continue;
      const first = firstChunkOf(made.id);
      // Chunks that it knew have gone, and some that it did not.
      if (first !== undefined && first > made.chunks + 1) {
        expect(lookFor(idsByHash(early, count), early)).toEqual([]);
        return;
      }
      if (first === undefined) early = undefined;
    }
  });

  it("has one entry for each id, whichever of two processes notes it and whichever makes a run of it", () => {
    const inNotes = (): number =>
      Number(
        place.connection.sql("SELECT coalesce(sum(length(entries) - 8), 0) / 20 FROM id_note").get()?.[0],
      );
    for (let count = 3; count <= 60; count += 3) {
      const one = place.append(
        0,
        ids(3, count - 3).map((id, n) => draft(n, { id })),
      );
      place.group(count % 2, [one]);
      const engine = place.engine(count % 5 < 3 ? 0 : 1);
      while (engine.isFilingDue) engine.file();
      expect(entries() + inNotes()).toBe(count);
    }
  });

  it("P3: a slice of a merge that was undone leaves nothing behind, though the next one has less to write", () => {
    let low = 0;
    const writer = new IndexWriter(place.connection, new IdIndex(place.connection), {
      isGone: (_, seq) => seq < low,
      sizes: INDEX_SIZES,
    });
    const transact = (work: () => void, end = "COMMIT"): void => {
      place.connection.exec("BEGIN IMMEDIATE");
      writer.begin();
      work();
      writer.flush();
      place.connection.exec(end);
      if (end === "ROLLBACK") writer.forget();
    };
    const hashOf = (seq: number): number => writer.index.hash.ofText(`order-${seq}`);
    const isUnderWay = (): boolean =>
      [...writer.index.runs.all()].some(({ through }) => through !== undefined);
    let head = 0;
    while (!isUnderWay()) {
      transact(() => {
        for (let n = 0; n < 8; n++) writer.add(hashOf(++head), 1, head);
      });
      transact(() => writer.slice());
    }
    transact(() => writer.slice(), "ROLLBACK");
    low = Math.ceil(head / 2);
    transact(() => writer.slice());
    const lost = Array.from({ length: head - low + 1 }, (_, n) => low + n).filter(
      (seq) => writer.index.places(hashOf(seq)).length === 0,
    );
    expect(lost).toEqual([]);
  });

  it("takes no more room than the events that are left need, whether they were cut or taken out", () => {
    append(ids(200));
    putInOrder();
    place.call(0, "trim", { topic: "t", partition: 0, through: 190 });
    putInOrder();
    expect(entries()).toBeLessThan(20);
    append(ids(200, 200));
    const seqs = Array.from({ length: 200 }, (_, n) => 201 + n);
    place.call(0, "remove", { topic: "t", partition: 0, seqs: seqs.slice(0, 195) });
    putInOrder();
    expect(entries()).toBeLessThan(30);
    expect([found("order-199"), found("order-200"), found("order-399")]).toEqual([200, undefined, 400]);
    expect(duplicatesOf(append(ids(1, 200)))).toBe(0);
    expect(place.problems()).toEqual([]);
  });

  it("P3: an id stays known whose event was to be removed, when that was undone and notes became runs since", () => {
    append(ids(3));
    place.connection.exec("CREATE TRIGGER no BEFORE INSERT ON part BEGIN SELECT RAISE(ROLLBACK, 'no'); END");
    const removal = place.request("remove", { topic: "t", partition: 0, seqs: [2] });
    expect(place.engine(0).run([removal]).replies).toMatchObject([{ error: {} }]);
    place.connection.exec("DROP TRIGGER no");
    append(ids(10, 3));
    putInOrder();
    expect(place.connection.sql("SELECT count(*) FROM id_note").get()).toEqual([0]);
    expect(found("order-1")).toBe(2);
    expect(duplicatesOf(append(ids(3)))).toBe(3);
    expect(place.problems()).toEqual([]);
  });

  it.each(["BEFORE INSERT ON part WHEN NEW.low > 1", "BEFORE DELETE ON batch"])(
    "what was to be cut, and was not (%s fails), does not count as dead: nothing is put in order for it",
    (when) => {
      append(ids(60));
      putInOrder();
      const runs = (): unknown => place.connection.sql("SELECT id, count FROM id_run").all();
      const before = runs();
      // It stays: once another connection has written, all is looked at anew.
      place.connection.exec(`CREATE TRIGGER no ${when} BEGIN SELECT RAISE(ABORT, 'no'); END`);
      const trim = place.request("trim", { topic: "t", partition: 0, through: 60 });
      expect(place.engine(0).run([trim]).replies).toMatchObject([{ error: {} }]);
      append(ids(1, 60));
      putInOrder();
      expect(runs()).toEqual(before);
    },
  );

  it("P3: an id stays known whose append was undone and repeated, when notes became runs since", () => {
    place.connection.exec(
      "CREATE TRIGGER no BEFORE INSERT ON part WHEN NEW.head = 3 BEGIN SELECT RAISE(ABORT, 'no'); END",
    );
    expect(append(ids(3))).toMatchObject({ error: {} });
    append(ids(12));
    putInOrder();
    expect(place.connection.sql("SELECT count(*) FROM id_note").get()).toEqual([0]);
    expect(duplicatesOf(append(ids(12)))).toBe(12);
    expect(place.problems()).toEqual([]);
  });

  it("P3: of a group whose one removal was undone, the others know all ids", () => {
    append(ids(3));
    place.connection.exec(
      "CREATE TRIGGER no BEFORE INSERT ON part WHEN NEW.low = 2 BEGIN SELECT RAISE(ABORT, 'no'); END",
    );
    const remove = (seq: number) => place.request("remove", { topic: "t", partition: 0, seqs: [seq] });
    const again = place.append(0, [draft(9, { id: "order-1" })]);
    const { replies } = place.engine(0).run([remove(3), remove(1), again]);
    expect(replies).toMatchObject([{ answer: 1 }, { error: {} }, { answer: { duplicates: [{ index: 0 }] } }]);
    place.connection.exec("DROP TRIGGER no");
    append(ids(10, 3));
    putInOrder();
    expect([found("order-0"), found("order-1"), found("order-2")]).toEqual([1, 2, undefined]);
    expect(place.problems()).toEqual([]);
  });

  it("P3: a note that was undone is not taken for the one that another process wrote under its number", () => {
    const other = new Connection(place.path, { busyTimeoutMs: 1_000 });
    const [mine, theirs] = [place.connection, other].map(
      (connection) =>
        new IndexWriter(connection, new IdIndex(connection), { isGone: () => false, sizes: INDEX_SIZES }),
    ) as [IndexWriter<IdIndex>, IndexWriter<IdIndex>];
    const write = (writer: IndexWriter<IdIndex>, seq: number): number => {
      const note = new EntryList(1);
      const hash = writer.index.hash.ofText(`order-${seq}`);
      note.push(hash, 1, seq);
      writer.index.notes.write(encodeEntries(note, 0, 1), note);
      return hash;
    };
    try {
      place.connection.exec("BEGIN IMMEDIATE");
      mine.begin();
      write(mine, 1);
      place.connection.exec("ROLLBACK");
      mine.forget();
      other.exec("BEGIN IMMEDIATE");
      theirs.begin();
      const hash = write(theirs, 2);
      other.exec("COMMIT");
      place.connection.exec("BEGIN IMMEDIATE");
      mine.begin();
      mine.refresh();
      expect(mine.index.places(hash)).toEqual([{ part: 1, seq: 2 }]);
      place.connection.exec("COMMIT");
    } finally {
      other.close();
    }
  });
});

describe("a damaged index of ids", () => {
  it("P14: a damaged chunk is told of by whoever would need it, and by nobody else", () => {
    append(ids(60));
    putInOrder();
    flipABitOfEachChunk();
    place.reopen(0);
    const again = append(ids(1, 7));
    expect("error" in again && again.error).toMatchObject({ code: "STORE_DAMAGED", retryable: false });
    expect("error" in again && again.error.message).toContain("the index of ids is damaged in chunk");
    expect(duplicatesOf(append([draft(1).id]))).toBe(0);
    expect(duplicatesOf(append(ids(6, 100)))).toBe(0);
    const problems = place.problems();
    expect(problems.filter((problem) => problem.includes("the index of ids is damaged"))).not.toEqual([]);
    expect(problems).toContain('event 8 of partition 0 of "t" is not found by its id');
  });

  it("P3, P14: filters that are damaged, or of an older build, are made anew from the entries", () => {
    for (const filter of ["x'00'", "zeroblob(516)", "''"]) {
      const from = entries();
      append(ids(60, from));
      putInOrder();
      place.connection.exec(`UPDATE id_chunk SET filter = ${filter} WHERE rowid % 2 = 0`);
      place.reopen(0);
      expect(duplicatesOf(append(ids(60, from)))).toBe(60);
      expect(duplicatesOf(append(ids(60, 10_000 + from)))).toBe(0);
      putInOrder();
      expect(duplicatesOf(append(ids(60, 10_000 + from)))).toBe(60);
    }
  });

  it("P14: a merge that meets damage is told of once; what comes is kept and found nevertheless", () => {
    for (const from of [0, 10]) {
      append(ids(7, from));
      putInOrder();
    }
    place.connection.exec("UPDATE id_chunk SET entries = x'00'");
    append(ids(7, 100));
    expect(() => putInOrder()).toThrow("the index of ids is damaged in chunk");
    expect(duplicatesOf(append(ids(3, 105)))).toBe(2);
    putInOrder();
    expect(place.connection.sql("SELECT count(*) FROM id_note").get()).toEqual([0]);
    expect(duplicatesOf(append(ids(3, 105)))).toBe(3);
  });

  it("P14: with a damaged note nobody can say whether an id is new, but ids that the bus makes go on", () => {
    append(ids(2));
    append(ids(2, 2));
    place.connection.exec("UPDATE id_note SET entries = x'00' WHERE id = 1");
    place.reopen(0);
    const fresh = append(ids(1, 50));
    expect("error" in fresh && fresh.error.message).toContain("the index of ids is damaged in note 1");
    expect(duplicatesOf(append([draft(1).id]))).toBe(0);
    putInOrder();
    expect(place.problems()[0]).toContain("the index of ids is damaged in note 1");
  });
});
