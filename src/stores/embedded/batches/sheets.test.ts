import { describe, expect, it } from "vitest";
import { draft, oneEach, PARTITIONS, SheetPlace } from "../../../../test/support/sheet-place.js";
import { BusError } from "../../../model/errors.js";
import { JsonBody } from "../../../model/json.js";
import { HistoryWalk } from "../log/key-walk.js";
import { seqAt } from "../log/log-reader.js";
import type { AppendAnswer } from "../protocol.js";

describe("small batches of many partitions in one commit", () => {
  it("stand in one row, and become one row for each partition when they are filed", () => {
    const place = new SheetPlace();
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

  it("P1, P2: too large for a sheet, they are rows at once, each with its own ids and bytes", () => {
    const place = new SheetPlace();
    const text = "x".repeat(3_000);
    // More than one statement holds, some partitions twice, others once.
    const drafts = Array.from({ length: PARTITIONS * 2 - 1 }, (_, n) =>
      draft(n, { body: JsonBody.ofText(JSON.stringify({ n, text })) }),
    );
    place.group(
      0,
      drafts.map((one, n) => place.append(n % PARTITIONS, [one])),
    );
    expect([place.count("sheet"), place.count("batch")]).toEqual([0, drafts.length]);
    for (let p = 0; p < PARTITIONS; p++)
      expect(place.read(p).map(({ id, seq, body }) => [id, seq, body.text])).toEqual(
        drafts.filter((_, n) => n % PARTITIONS === p).map(({ id, body }, i) => [id, i + 1, body.text]),
      );
    expect(place.problems()).toEqual([]);
    place.close();
  });

  it("P2: a round of filing that one process began is finished by another, with reads in between", () => {
    const place = new SheetPlace();
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

  it.each([
    ["pieces", 17_000, "x"],
    ["bytes", 2_300, "x".repeat(1_850)],
  ])("P13: are filed once there are too many %s of them, however few sheets these are", (_, count, text) => {
    const place = new SheetPlace();
    const body = JsonBody.ofText(JSON.stringify(text));
    const commit = (): void => {
      const requests = Array.from({ length: count }, (_, n) =>
        place.append(n % PARTITIONS, [draft(n, { body })]),
      );
      place.group(0, requests);
    };
    commit();
    expect(place.engine(0).isFilingDue).toBe(false);
    commit();
    expect(place.engine(0).isFilingDue).toBe(true);
    expect(place.count("sheet")).toBeLessThan(200);
    while (place.engine(0).isFilingDue) place.engine(0).file();
    expect(place.count("sheet")).toBe(0);
    place.close();
  });

  it("P3: their ids are found before and after they are filed, and go when they are removed", () => {
    const place = new SheetPlace();
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

  it("P3: go when they are removed although they are not filed yet, the last one that is to go too", () => {
    const place = new SheetPlace();
    const drafts = oneEach(place, 0, 0);
    oneEach(place, 0, 1);
    place.call(0, "trim", { topic: "t", partition: 0, through: 1 });
    expect(place.read(0).map(({ seq }) => seq)).toEqual([2]);
    const [answer] = place.group(0, [place.append(0, drafts.slice(0, 1))]) as AppendAnswer[];
    expect(answer).toMatchObject({ firstSeq: 3 });
    expect(answer).not.toHaveProperty("duplicates");
    expect(place.problems()).toEqual([]);
    place.close();
  });

  it("are found by time when an event that was ahead of them is gone, although they are not filed yet", () => {
    const place = new SheetPlace();
    place.group(0, [place.append(0, [draft(0, { ts: 9_000 })])]);
    for (const n of [1, 2]) oneEach(place, 0, n);
    expect([place.count("sheet"), place.count("batch")]).toEqual([2, 1]);
    const at = (ts: number): number =>
      place.connection.snapshot(() => seqAt(place.connection, place.batches, place.part(0), ts));
    expect([at(1_015), at(2_000)]).toEqual([1, 1]);
    place.call(0, "trim", { topic: "t", partition: 0, through: 1 });
    expect([at(1_010), at(1_015), at(2_000)]).toEqual([2, 3, 4]);
    expect(place.problems()).toEqual([]);
    place.close();
  });

  it("P3: an id that comes twice in one commit, in different requests, is added once", () => {
    const place = new SheetPlace();
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
    const place = new SheetPlace();
    for (let n = 0; n < 3; n++) oneEach(place, 0, n);
    place.call(0, "defineTopic", {
      config: { name: "t", partitions: PARTITIONS, keyed: true },
      ifAbsent: false,
    });
    const filling = place.topics.reload("t")?.keys ?? 0;
    for (let p = 0; p < PARTITIONS; p++)
      place.call(0, "fillKeys", { topic: "t", part: place.part(p), after: 0, filling });
    place.call(0, "keysFilled", { topic: "t", filling });
    oneEach(place, 1, 3);
    expect(place.count("sheet")).toBe(0);
    const row = place.topics.reload("t");
    if (row === undefined) throw new Error("the topic is gone");
    const walk = new HistoryWalk(row, "k1", { limit: 100 });
    while (!walk.step(place)) {}
    expect(walk.events).toHaveLength(13);
    expect(place.problems()).toEqual([]);
    place.close();
  });

  it("P14: a sheet with damaged bytes is not served, before and after it is filed; other sheets are", () => {
    const place = new SheetPlace();
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
    const place = new SheetPlace();
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
    const place = new SheetPlace();
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

  it("P3: ids are found that were filed after a round which was undone", () => {
    const place = new SheetPlace();
    for (let n = 0; n < 2; n++) oneEach(place, 0, n);
    place.connection.exec("CREATE TRIGGER no BEFORE UPDATE ON filing BEGIN SELECT RAISE(ABORT, 'no'); END");
    expect(() => place.engine(0).file()).toThrow("no");
    place.connection.exec("DROP TRIGGER no");
    expect([place.count("filed_id"), place.count("batch")]).toEqual([0, 0]);
    place.engine(0).file();
    expect([place.count("filed_id"), place.count("batch")]).toEqual([2 * PARTITIONS, PARTITIONS]);
    expect(place.problems()).toEqual([]);
    place.close();
  });

  it("P14: a partition with holes has rows only: what is lost of it would not be missed", () => {
    const place = new SheetPlace();
    for (let n = 0; n < 2; n++) oneEach(place, 0, n);
    place.call(0, "remove", { topic: "t", partition: 3, seqs: [2] });
    const rows = place.count("batch");
    oneEach(place, 0, 2);
    expect([place.count("sheet"), place.count("batch")]).toEqual([1, rows + 1]);
    expect(place.read(3).map(({ seq }) => seq)).toEqual([1, 3]);
    place.close();
  });

  it("P14: a sheet with a damaged directory leaves a gap that is noticed, and is set aside", () => {
    const place = new SheetPlace();
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
    for (let p = 1; p < PARTITIONS; p++) place.call(0, "trim", { topic: "t", partition: p, through: 2 });
    expect(place.problems()).toEqual(["the directory of sheet 2 is damaged"]);
    // Its partitions may have sheets again, and miss what is lost of them.
    oneEach(place, 0, 5);
    place.connection.exec("UPDATE sheet SET directory = x'0123' WHERE id > 0");
    place.reopen(0);
    expect(() => place.read(0)).toThrow(/events 5 to 5 of partition 0 of "t" are damaged/);
    place.close();
  });
});
