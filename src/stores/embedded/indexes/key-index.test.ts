import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { draft, PARTITIONS, SheetPlace } from "../../../../test/support/sheet-place.js";
import type { HistoryOptions } from "../../../ports/log.js";
import { HistoryWalk } from "../log/key-walk.js";

let place: SheetPlace;
beforeEach(() => {
  place = new SheetPlace();
  define(true);
});
afterEach(() => place.close());

function define(keyed: boolean): void {
  place.call(0, "defineTopic", { config: { name: "t", partitions: PARTITIONS, keyed }, ifAbsent: false });
  const filling = place.topics.reload("t")?.keys ?? 0;
  if (keyed) place.call(0, "keysFilled", { topic: "t", filling });
}

function append(partition: number, ...keys: readonly string[]): void {
  const drafts = keys.map((key, n) => draft(n, { key }));
  place.call(0, "append", place.append(partition, drafts).argument as never);
}

function trim(through: number): void {
  for (let done = false; !done; )
    ({ done } = place.call(0, "trim", { topic: "t", partition: 0, through }) as { done: boolean });
}

function putInOrder(): void {
  while (place.engine(0).isFilingDue) place.engine(0).file();
}

function entries(): number {
  const rows = "SELECT length(entries) / 20 AS count FROM key_note UNION ALL SELECT count FROM key_run";
  return Number(place.connection.prepare(`SELECT coalesce(sum(count), 0) FROM (${rows})`).get()?.[0]);
}

function history(key: string, o: Partial<HistoryOptions> = {}): string[] {
  const row = place.topics.reload("t");
  if (row === undefined) throw new Error("the topic is gone");
  const walk = new HistoryWalk(row, key, { limit: 1_000, ...o });
  while (!place.connection.snapshot(() => walk.step(place))) {}
  return walk.events.map(({ partition, seq }) => `${partition}/${seq}`);
}

describe("the index by key", () => {
  it("finds a key that is in every batch of several partitions, from either end, while it is put in order", () => {
    const expected: string[] = [];
    for (let seq = 1; seq <= 120; seq++) {
      for (const partition of [0, 1]) {
        append(partition, "hot");
        expected.push(`${partition}/${seq}`);
      }
      if (seq % 3 === 0) place.engine(0).file();
      if (seq % 20 === 0) expect(history("hot")).toEqual(expected);
    }
    expect(history("hot", { newestFirst: true })).toEqual(expected.toReversed());
    expect(history("hot", { newestFirst: true, limit: 1 })).toEqual(["1/120"]);
    expect(history("hot", { after: 50, through: 52 })).toEqual(["0/51", "1/51", "0/52", "1/52"]);
    putInOrder();
    expect(history("hot")).toEqual(expected);
    expect(history("cold")).toEqual([]);
  });

  it("takes no more room than the batches that are left need, whether they were cut, taken out or are not asked for", () => {
    for (let n = 0; n < 1_200; n++) append(0, `k${n}`);
    putInOrder();
    expect(entries()).toBe(1_200);
    trim(1_190);
    putInOrder();
    // Those of batches that begin close below the low may be there.
    for (let n = 0; n < 1_100; n++) append(0, `k${n}`);
    trim(2_290);
    putInOrder();
    expect(entries()).toBeLessThan(1_100);
    const seqs = Array.from({ length: 9 }, (_, n) => 2_292 + n);
    place.call(0, "remove", { topic: "t", partition: 0, seqs });
    putInOrder();
    expect([history("k1089"), history("k1090"), history("k1099")]).toEqual([[], ["0/2291"], []]);
    expect(place.problems()).toEqual([]);
    define(false);
    putInOrder();
    expect(entries()).toBe(0);
  });

  it("of a batch that loses some of its events keeps the keys that it still has", () => {
    append(0, "a", "b", "a", "c");
    place.call(0, "remove", { topic: "t", partition: 0, seqs: [1, 2] });
    putInOrder();
    expect([history("a"), history("b"), history("c")]).toEqual([["0/3"], [], ["0/4"]]);
    expect(place.problems()).toEqual([]);
  });

  it("P11: finds what was to be removed, when that was undone and notes became runs since", () => {
    append(0, "a");
    append(0, "b");
    place.connection.exec("CREATE TRIGGER no BEFORE INSERT ON part BEGIN SELECT RAISE(ROLLBACK, 'no'); END");
    expect(() => place.call(0, "remove", { topic: "t", partition: 0, seqs: [2] })).toThrow();
    place.connection.exec("DROP TRIGGER no");
    for (let n = 0; n < 10; n++) append(0, "c");
    putInOrder();
    expect(history("b")).toEqual(["0/2"]);
    expect(place.problems()).toEqual([]);
  });
});

describe("a damaged index by key", () => {
  it("P14: is told of by whoever needs what is damaged; events are appended, and found by others", () => {
    for (let n = 0; n < 60; n++) append(0, `k${n}`);
    putInOrder();
    place.connection.exec("UPDATE key_chunk SET entries = x'00'");
    place.reopen(0);
    expect(() => history("k7")).toThrow("the index of keys is damaged in chunk");
    append(0, "new");
    expect(history("new")).toEqual(["0/61"]);
    const problems = place.problems();
    expect(problems.some((problem) => problem.startsWith("the index of keys is damaged"))).toBe(true);
    expect(problems).toContain('event 8 of partition 0 of "t" is not found by its key');
  });

  it("P14: without its state no event with a key is taken, and events of other topics are", () => {
    append(0, "a");
    place.connection.exec("DELETE FROM key_state");
    place.reopen(0);
    expect(() => append(0, "b")).toThrow("the index of keys is damaged");
    // Among others, what is refused leaves nothing behind, and takes no seq.
    const refused = [place.append(0, [draft(1)]), place.append(0, [draft(2)]), place.append(1, [draft(3)])];
    const { replies } = place.engine(0).run(refused);
    expect(replies).toMatchObject(refused.map(() => ({ error: { code: "STORE_DAMAGED" } })));
    expect([place.read(0).length, place.count("batch")]).toEqual([1, 1]);
    expect(() => history("a")).toThrow("the index of keys is damaged");
    place.call(0, "defineTopic", { config: { name: "other", partitions: 1 }, ifAbsent: true });
    const { argument } = place.append(0, [draft(1)]);
    place.call(0, "append", { ...(argument as object), topic: "other" } as never);
    expect(place.problems()).toEqual([
      "the index of keys is damaged: its state is not there; restore a backup",
    ]);
  });
});
