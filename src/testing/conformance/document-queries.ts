/** Queries: values compared as data, one order for every driver, pages that stand still under writes. */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../model/json.js";
import type { DocumentQuery, FieldCondition, FieldValue } from "../../ports/documents.js";
import type { Store } from "../../ports/store.js";
import { remove, upsert } from "./document-writes.js";
import type { Harness } from "./harness.js";
import { failsWith, range, unique } from "./samples.js";

export function describeQueries(harness: Harness): void {
  describe("find", () => {
    describeConditions(harness);
    describePaths(harness);
    describeOrder(harness);
    describePages(harness);
  });
}

/** A view with these documents, by key. */
async function filled(store: Store, documents: Readonly<Record<string, JsonObject>>): Promise<string> {
  const view = unique("view");
  await store.documents.write(
    view,
    Object.entries(documents).map(([key, fields]) => upsert(key, fields)),
  );
  return view;
}

async function keysOf(store: Store, view: string, query: Partial<DocumentQuery> = {}): Promise<string[]> {
  const page = await store.documents.find(view, { limit: 100, ...query });
  expect(page.next).toBeNull();
  return page.documents.map((document) => document.key);
}

/** Every type a field may have, named after it. */
const EVERY_TYPE: Readonly<Record<string, JsonObject>> = {
  array: { f: [1, "a", null] },
  empty: { f: "" },
  false: { f: false },
  missing: { other: 1 },
  null: { f: null },
  object: { f: { a: 1 } },
  one: { f: 1 },
  textA: { f: "a" },
  textAb: { f: "ab" },
  textB: { f: "b" },
  textOne: { f: "1" },
  true: { f: true },
  two: { f: 2.5 },
  zero: { f: 0 },
};

type Where = FieldValue | FieldCondition;
const TEXTS = ["empty", "textA", "textAb", "textB", "textOne"];
const others = (...keys: string[]): string[] => Object.keys(EVERY_TYPE).filter((key) => !keys.includes(key));

const CONDITIONS: readonly (readonly [string, Where, readonly string[]])[] = [
  ["a bare string means eq", "a", ["textA"]],
  ["a bare number means eq, and is no text", 1, ["one"]],
  ["a bare true means eq, and is no number", true, ["true"]],
  ["a bare null means eq, and is not missing", null, ["null"]],
  ["eq 0 is not false, not empty", { eq: 0 }, ["zero"]],
  ["eq false", { eq: false }, ["false"]],
  ["eq of an empty string", { eq: "" }, ["empty"]],
  ["eq null is not missing", { eq: null }, ["null"]],
  ["ne is not eq, so a missing field fits", { ne: "a" }, others("textA")],
  ["ne null", { ne: null }, others("null")],
  ["in: any of them", { in: ["a", 1, null] }, ["null", "one", "textA"]],
  ["in: of no value nothing", { in: [] }, []],
  ["gt of a number is for numbers", { gt: 0 }, ["one", "two"]],
  ["gte of a number", { gte: 0 }, ["one", "two", "zero"]],
  ["lt of a number", { lt: 2.5 }, ["one", "zero"]],
  ["lte of a number", { lte: 1 }, ["one", "zero"]],
  ["gt of a text is for texts", { gt: "a" }, ["textAb", "textB"]],
  ["gte of a text", { gte: "a" }, ["textA", "textAb", "textB"]],
  ["lt of a text", { lt: "a" }, ["empty", "textOne"]],
  ["lte of a text", { lte: "" }, ["empty"]],
  ["a range of both ends", { gt: "1", lte: "ab" }, ["textA", "textAb"]],
  ["prefix is for texts", { prefix: "a" }, ["textA", "textAb"]],
  ["an empty prefix is every text", { prefix: "" }, TEXTS],
  ["exists: null is there", { exists: true }, others("missing")],
  ["exists: false", { exists: false }, ["missing"]],
  ["all conditions hold", { gte: 0, ne: 1, in: [0, 1, 2.5] }, ["two", "zero"]],
  ["no condition at all", {}, others()],
];

function describeConditions(harness: Harness): void {
  it.each(CONDITIONS)("%s", async (_, condition, expected) => {
    const view = await filled(harness.store, EVERY_TYPE);
    expect(await keysOf(harness.store, view, { where: { f: condition } })).toEqual([...expected].sort());
  });

  it("conditions on several fields all hold", async () => {
    const view = await filled(harness.store, {
      a: { host: "h1", n: 1 },
      b: { host: "h1", n: 2 },
      c: { host: "h2", n: 2 },
    });
    expect(await keysOf(harness.store, view, { where: { host: "h1", n: { gte: 2 } } })).toEqual(["b"]);
    expect(await keysOf(harness.store, view, { where: { host: "h3", n: 2 } })).toEqual([]);
    expect(await keysOf(harness.store, view)).toEqual(["a", "b", "c"]);
  });

  it("values and names are never interpreted", async () => {
    const ends = ["a\0", "a\0b", "\ud7ff", "\ue000", "\u{10ffff}", "\u{10ffff}x", "x".repeat(40_000)];
    const odd = ["$gt", "a*", "%", "_", ".*", "'; --", "\\", "a%", '"', "ü🙂", ...ends];
    const view = await filled(
      harness.store,
      Object.fromEntries(odd.map((text, i) => [`k${i}`, { f: text }])),
    );
    for (const [i, text] of odd.entries()) {
      expect(await keysOf(harness.store, view, { where: { f: text } }), text).toEqual([`k${i}`]);
      const prefixed = odd.flatMap((t, j) => (t.startsWith(text) ? [`k${j}`] : [])).sort();
      expect(await keysOf(harness.store, view, { where: { f: { prefix: text } } }), text).toEqual(prefixed);
    }
    for (const path of ["$where", "'", "f'", "f.$x", "constructor", "__proto__"]) {
      expect(await keysOf(harness.store, view, { where: { [path]: { exists: true } } }), path).toEqual([]);
    }
  });

  it("a view that does not exist has no documents", async () => {
    expect(await harness.store.documents.find(unique("view"), { limit: 5 })).toEqual({
      documents: [],
      next: null,
    });
    expect((await harness.store.documents.get(unique("view"), ["a"])).size).toBe(0);
  });
}

function describePaths(harness: Harness): void {
  it("a dot enters a nested object; arrays and texts are not entered", async () => {
    const view = await filled(harness.store, {
      array: { at: [{ host: "h1" }, "h1"] },
      deep: { at: { host: { name: "h1" } } },
      literal: { "at.host": "h1" },
      nested: { at: { host: "h1" } },
      other: { at: { host: "h2" } },
      text: { at: "host" },
    });
    expect(await keysOf(harness.store, view, { where: { "at.host": "h1" } })).toEqual(["nested"]);
    expect(await keysOf(harness.store, view, { where: { "at.host.name": "h1" } })).toEqual(["deep"]);
    expect(await keysOf(harness.store, view, { where: { "at.host": { exists: true } } })).toEqual([
      "deep",
      "nested",
      "other",
    ]);
    expect(await keysOf(harness.store, view, { where: { "at.0": { exists: true } } })).toEqual([]);
    expect(await keysOf(harness.store, view, { where: { "at.length": { exists: true } } })).toEqual([]);
  });

  it("_key is the document's key, whatever its fields say", async () => {
    const view = await filled(harness.store, { a: { _key: "z" }, ab: { _key: "z" }, b: { key: "a" } });
    const ask = (condition: Where): Promise<string[]> =>
      keysOf(harness.store, view, { where: { _key: condition } });
    expect(await ask("a")).toEqual(["a"]);
    expect(await ask("z")).toEqual([]);
    expect(await ask({ prefix: "a" })).toEqual(["a", "ab"]);
    expect(await ask({ gt: "a" })).toEqual(["ab", "b"]);
    expect(await ask({ gte: "ab", lt: "b" })).toEqual(["ab"]);
    expect(await ask({ in: ["b", "a", "c"] })).toEqual(["a", "b"]);
    expect(await ask({ ne: "ab" })).toEqual(["a", "b"]);
  });
}

function describeOrder(harness: Harness): void {
  it("by key unless asked otherwise, by code point", async () => {
    const keys = ["", " ", "10", "9", "A", "Z", "a", "aa", "z", "é", "ﬀ", "🙂"];
    const view = await filled(harness.store, Object.fromEntries(keys.toReversed().map((key) => [key, {}])));
    expect(await keysOf(harness.store, view)).toEqual(keys);
    const order = { field: "_key", descending: true };
    expect(await keysOf(harness.store, view, { order })).toEqual(keys.toReversed());
  });

  it("missing fields first, then null, booleans, numbers, strings; ties by key", async () => {
    const view = await filled(harness.store, {
      a10: { f: 10 },
      a9: { f: 9 },
      b9: { f: 9 },
      minus: { f: -1.5 },
      missing1: {},
      missing2: { g: 1 },
      no: { f: false },
      a0: { f: null },
      text10: { f: "10" },
      text9: { f: "9" },
      yes: { f: true },
    });
    const sorted = "missing1 missing2 a0 no yes minus a9 b9 a10 text10 text9".split(" ");
    expect(await keysOf(harness.store, view, { order: { field: "f" } })).toEqual(sorted);
    const descending = "text9 text10 a10 b9 a9 minus yes no a0 missing2 missing1".split(" ");
    expect(await keysOf(harness.store, view, { order: { field: "f", descending: true } })).toEqual(
      descending,
    );
  });

  it("by a nested field, together with conditions", async () => {
    const view = await filled(harness.store, {
      a: { at: { n: 3 }, on: true },
      b: { at: { n: 1 }, on: true },
      c: { at: { n: 2 }, on: false },
      d: { at: { n: 0 }, on: true },
    });
    expect(await keysOf(harness.store, view, { order: { field: "at.n" }, where: { on: true } })).toEqual([
      "d",
      "b",
      "a",
    ]);
  });
}

function describePages(harness: Harness): void {
  const pages = async (view: string, query: DocumentQuery): Promise<string[][]> => {
    const all: string[][] = [];
    for (let after: string | undefined; all.length < 100; ) {
      const page = await harness.store.documents.find(view, { ...query, ...(after ? { after } : {}) });
      all.push(page.documents.map((d) => d.key));
      if (page.next === null) return all;
      after = page.next;
    }
    throw new Error("the pages never end");
  };

  it.each([
    ["by key", undefined],
    ["by a field with ties, nulls and gaps", { field: "f" }],
    ["descending", { field: "f", descending: true }],
    ["by key, descending", { field: "_key", descending: true }],
  ] as const)("pages put together are the whole answer, %s", async (_, order) => {
    const mixed = [null, false, true, 1, 1, 2, "a", "a", "ü🙂"];
    const view = await filled(
      harness.store,
      Object.fromEntries(
        range(10, 40).map((n) => [`k${n}`, n % 10 === 9 ? {} : { f: mixed[n % 9] as JsonObject["f"] }]),
      ) as Record<string, JsonObject>,
    );
    const query = { ...(order === undefined ? {} : { order }), where: { _key: { ne: "k20" } } };
    const whole = await keysOf(harness.store, view, query);
    expect(whole).toHaveLength(30);
    for (const limit of [1, 4, 30, 31]) {
      const parts = await pages(view, { ...query, limit });
      expect(parts.flat()).toEqual(whole);
      expect(parts.every((part) => part.length <= limit)).toBe(true);
    }
  });

  it("writes between two pages neither repeat nor hide a document that stays", async () => {
    const { documents } = harness.store;
    const view = await filled(
      harness.store,
      Object.fromEntries(range(1, 9).map((n) => [`k${n}`, { n: Math.ceil(n / 3), touched: 0 }])),
    );
    const order = { field: "n" };
    const first = await documents.find(view, { order, limit: 4 });
    expect(first.documents.map((d) => d.key)).toEqual(["k1", "k2", "k3", "k4"]);
    await documents.write(view, [
      remove("k4"),
      remove("k1"),
      remove("k6"),
      upsert("k0", { n: 1 }),
      upsert("k41", { n: 2 }),
      upsert("k5", { n: 2, touched: 1 }),
      upsert("k3", { n: 1, touched: 1 }),
    ]);
    const rest = await documents.find(view, { order, limit: 10, after: first.next ?? "" });
    expect(rest.documents.map((d) => d.key)).toEqual(["k41", "k5", "k7", "k8", "k9"]);
    expect(rest.next).toBeNull();
  });

  it("an `after` that is not the `next` of a page: INVALID_OPTION", async () => {
    const view = await filled(harness.store, { a: {} });
    for (const after of ["nonsense", "", "bnVsbA", "{}"]) {
      await failsWith("INVALID_OPTION", harness.store.documents.find(view, { limit: 1, after }));
    }
  });
}
