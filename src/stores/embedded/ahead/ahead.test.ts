import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { logsOf, PARTITIONS, Place } from "../../../../test/support/ahead-place.js";
import { systemClock } from "../../../model/clock.js";
import { BusError } from "../../../model/errors.js";
import { Connection } from "../sqlite.js";
import { aheadPath } from "./ahead-file.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "promethean-ahead-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** For what opens a hundred stores, on a busy machine too. */
const LONG_MS = 300_000;
const newIds = (count: number): string[] => Array.from({ length: count }, () => systemClock.newId());

describe("appends ahead of the store", () => {
  it(
    "P1, P2, P3: a process that is killed at any moment leaves what it promised, under its seqs, once",
    async () => {
      const step = fc.oneof(
        {
          weight: 8,
          arbitrary: fc.record({ append: fc.nat(PARTITIONS - 1), count: fc.integer({ min: 1, max: 4 }) }),
        },
        {
          weight: 4,
          arbitrary: fc.record({ appendOne: fc.nat(PARTITIONS - 1), count: fc.integer({ min: 1, max: 4 }) }),
        },
        { weight: 2, arbitrary: fc.constant("apply" as const) },
        { weight: 1, arbitrary: fc.constant("kill" as const) },
        { weight: 1, arbitrary: fc.constant("takeOver" as const) },
      );
      let wentAhead = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 15, maxLength: 40 }),
          fc.boolean(),
          async (steps, useCache) => {
            let place = new Place(join(folder, `${systemClock.newId()}.db`), { useCache });
            for (const one of steps) {
              if (one === "apply") place.apply();
              else if (one === "kill") expect(await logsOf(place.killed())).toEqual(place.promised);
              else if (one === "takeOver") {
                const next = new Place(place.killed(), { from: place.promised, useCache });
                wentAhead += place.wentAhead;
                place.close();
                place = next;
              } else if ("appendOne" in one) place.appendOne(one.appendOne, newIds(one.count));
              else place.append(one.append, newIds(one.count));
            }
            expect(await logsOf(place.killed())).toEqual(place.promised);
            place.close();
            expect(existsSync(aheadPath(place.path))).toBe(false);
            expect(await logsOf(place.path)).toEqual(place.promised);
            wentAhead += place.wentAhead;
          },
        ),
        { numRuns: 12 },
      );
      expect(wentAhead).toBeGreaterThan(20);
    },
    LONG_MS,
  );

  it.each([
    ["past the cache", false],
    ["through the cache", true],
  ])(
    "P1, P2: the file ahead is used again from its beginning, and what was there before is not taken for new: %s",
    async (_, useCache) => {
      const place = new Place(join(folder, "bus.db"), { useCache });
      const text = "x".repeat(4_000);
      // More than twice its size.
      for (let n = 0; n < 600; n++) {
        place.append(0, newIds(1), text);
        // Of one look some records stand at the end of the file, and some at its beginning.
        if (n % 233 === 232 || [238, 248, 258].includes(n))
          expect(await logsOf(place.killed())).toEqual(place.promised);
        if (n % 10 === 9) place.apply();
      }
      // All but the first, by which the end is known.
      expect(place.wentAhead).toBe(599);
      // Ten of 4,000 bytes fit into a row.
      const rows = new Connection(place.path, { busyTimeoutMs: 1_000 });
      expect(rows.sql("SELECT count(*) FROM batch").get()?.[0]).toBeLessThan(80);
      rows.close();
      expect(await logsOf(place.killed())).toEqual(place.promised);
      place.close();
    },
  );

  it("P1: a record that was cut off was never promised; all before it are there", async () => {
    const place = new Place(join(folder, "bus.db"));
    for (let n = 0; n < 5; n++) place.append(0, newIds(1));
    const before = place.promised.map((ids) => [...ids]);
    const whole = readFileSync(aheadPath(place.path));
    place.append(0, newIds(1));
    const killed = place.killed();
    const after = readFileSync(aheadPath(killed));
    const differs = after.findLastIndex((byte, i) => byte !== whole[i]);
    after[differs - 20] = (after[differs - 20] as number) ^ 1;
    writeFileSync(aheadPath(killed), after);
    expect(await logsOf(killed)).toEqual(before);
    place.close();
  });

  /** The file ahead of a store that was killed, with a bit turned in the first record of these. */
  function turnBit(path: string, ids: readonly string[]): void {
    const bytes = readFileSync(aheadPath(path));
    const at = bytes.indexOf(Buffer.from((ids[0] ?? "").replaceAll("-", ""), "hex"));
    expect(at).toBeGreaterThan(0);
    bytes[at] = (bytes[at] as number) ^ 1;
    writeFileSync(aheadPath(path), bytes);
  }

  it("P1: a damaged record that the store has already hides none of those that it has not", async () => {
    const place = new Place(join(folder, "bus.db"));
    place.append(0, newIds(1));
    const taken = newIds(1);
    place.append(0, taken);
    place.append(0, newIds(1));
    place.apply();
    for (let n = 0; n < 3; n++) place.append(0, newIds(1));
    const killed = place.killed();
    turnBit(killed, taken);
    expect(await logsOf(killed)).toEqual(place.promised);
    place.close();
  });

  it("P1, P14: a damaged record before others was answered: the store is not opened as if nothing had stood there", async () => {
    const place = new Place(join(folder, "bus.db"));
    place.append(0, newIds(1));
    const lost = newIds(1);
    place.append(0, lost);
    for (let n = 0; n < 3; n++) place.append(0, newIds(1));
    const killed = place.killed();
    turnBit(killed, lost);
    for (let n = 0; n < 2; n++)
      await expect(logsOf(killed)).rejects.toMatchObject({
        code: "STORE_DAMAGED",
        message: expect.stringMatching(/-ahead is damaged: record 1 cannot be read.*move that file away/),
      });
    rmSync(aheadPath(killed));
    expect(await logsOf(killed)).toEqual([place.promised[0]?.slice(0, 1), [], []]);
    place.close();
  });

  it("P13: what is taken over makes room, also while more is written; without that the thread is asked before long", () => {
    const place = new Place(join(folder, "bus.db"));
    const text = "x".repeat(8_000);
    const append = (): boolean => {
      const before = place.wentAhead;
      place.append(0, newIds(1), text);
      return place.wentAhead > before;
    };
    append();
    // The store lags behind by one record for ever.
    for (let n = 0; n < 100; n++) expect(place.appendDuring(append)).toBe(true);
    let room = 0;
    while (append()) expect(++room).toBeLessThan(40);
    expect(room).toBeGreaterThan(20);
    place.close();
  });

  it("P3: an id that went ahead, or came in any other way, is looked up in the store when it comes again", async () => {
    const place = new Place(join(folder, "bus.db"));
    const [byThread = "", ahead = ""] = newIds(2);
    place.append(0, [byThread]);
    place.append(0, [ahead]);
    expect(place.wentAhead).toBe(1);
    for (const [id, seq] of [
      [ahead, 2],
      [byThread, 1],
    ] as const) {
      const { duplicates } = place.refusedAhead(place.request(0, [id]), place.draft(id));
      expect(duplicates).toMatchObject([{ index: 0, event: { seq } }]);
    }
    const other = "an id of another kind";
    expect(place.refusedAhead(place.request(0, [other]), place.draft(other)).firstSeq).toBe(3);
    place.close();
  });

  it("P3: ids that were in the store when it was opened are looked up, whatever their time", async () => {
    const path = join(folder, "bus.db");
    const first = new Place(path);
    // Ahead of the clock by more than batches note the times of.
    const later = "ffffffff-0000-7000-8000-000000000001";
    const [now = ""] = newIds(1);
    first.append(0, [now]);
    first.append(0, [later]);
    first.close();
    const second = new Place(path, { from: first.promised });
    second.append(0, ["opens the way"]);
    for (const id of [now, later])
      expect(second.refusedAhead(second.request(0, [id])).duplicates).toHaveLength(1);
    second.close();
  });

  it("P2: seqs that were promised are given to nobody else: what does not fit stops the store", () => {
    const place = new Place(join(folder, "bus.db"));
    place.append(0, newIds(1));
    place.append(0, newIds(1));
    expect(place.wentAhead).toBe(1);
    const other = new Connection(place.path, { busyTimeoutMs: 1_000 });
    other.exec("UPDATE part SET head = head + 5");
    other.close();
    expect(() => place.apply()).toThrow(BusError);
    expect(() => place.apply()).toThrow(/was promised seq 2, but the next one is 7/);
  });

  it.each([
    ["appends", (place: Place) => place.append(0, newIds(1))],
    ["lone events", (place: Place) => place.appendOne(0, newIds(1))],
  ])("a slow disk is left to the thread, which may wait, for longer and longer: %s", (_, append) => {
    const place = new Place(join(folder, "bus.db"), { slowMs: -1 });
    const wentAhead = Array.from({ length: 60 }, () => {
      const before = place.wentAhead;
      append(place);
      return place.wentAhead > before;
    });
    // The first is by the thread, which tells the head; then 8, 16 and 32 lie between two that went ahead.
    expect(wentAhead.flatMap((went, n) => (went ? [n] : []))).toEqual([1, 10, 27]);
    place.close();
  });

  it("an event that is too large for a record goes by the thread", () => {
    const place = new Place(join(folder, "bus.db"));
    place.append(0, newIds(1));
    for (const chars of [9_000, 40_000]) place.appendOne(0, newIds(1), "x".repeat(chars));
    expect(place.wentAhead).toBe(0);
    place.appendOne(0, newIds(1));
    expect(place.wentAhead).toBe(1);
    place.close();
  });

  it("a record of another opening of the store is left alone", async () => {
    const place = new Place(join(folder, "bus.db"));
    place.append(0, newIds(1));
    place.append(0, newIds(1));
    const old = readFileSync(aheadPath(place.path));
    place.close();
    writeFileSync(aheadPath(place.path), old);
    expect(await logsOf(place.path)).toEqual(place.promised);
  });
});
