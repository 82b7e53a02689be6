/** Writes to views: versions only grow, stale ones are counted, tombstones block late updates. */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../model/json.js";
import type { DocumentWrite, ViewDocument } from "../../ports/documents.js";
import type { Harness } from "./harness.js";
import { failsWith, HALF_PAIR, ODD_PAYLOADS, range, T0, unique } from "./samples.js";

export function describeWrites(harness: Harness): void {
  describe("write", () => {
    describeVersions(harness);
    describeTombstones(harness);
    describeIncrements(harness);
    describeContent(harness);
  });
}

export function upsert(key: string, fields: JsonObject, rest: Partial<DocumentWrite> = {}): DocumentWrite {
  return { op: "upsert", key, ts: T0, fields, ...rest } as DocumentWrite;
}

export function remove(key: string, rest: Partial<DocumentWrite> = {}): DocumentWrite {
  return { op: "delete", key, ts: T0, ...rest } as DocumentWrite;
}

export function increment(
  key: string,
  by: Record<string, number>,
  rest: Partial<DocumentWrite> = {},
): DocumentWrite {
  return { op: "increment", key, ts: T0, by, ...rest } as DocumentWrite;
}

export async function readDocument(
  harness: Harness,
  view: string,
  key: string,
): Promise<ViewDocument | undefined> {
  return (await harness.store.documents.get(view, [key])).get(key);
}

function describeVersions(harness: Harness): void {
  it("an upsert makes the document what it says, with version and ts", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    const result = await documents.write(view, [
      upsert("a", { x: 1, y: { z: [1, null] } }, { version: 3, ts: T0 + 1 }),
      upsert("b", {}, { version: 1 }),
    ]);
    expect(result).toEqual({ applied: 2, stale: 0 });
    const found = await (await harness.second()).documents.get(view, ["a", "b", "nobody"]);
    expect([...found.keys()].sort()).toEqual(["a", "b"]);
    expect(found.get("a")).toStrictEqual({
      key: "a",
      version: 3,
      ts: T0 + 1,
      fields: { x: 1, y: { z: [1, null] } },
    });
    await documents.write(view, [upsert("a", { only: true }, { version: 4 })]);
    expect((await readDocument(harness, view, "a"))?.fields).toStrictEqual({ only: true });
  });

  it("P9: a version not above the present one changes nothing and is counted as stale", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    await documents.write(view, [upsert("a", { v: 5 }, { version: 5, ts: T0 })]);
    const before = await readDocument(harness, view, "a");
    const result = await documents.write(view, [
      upsert("a", { v: 5.5 }, { version: 5, ts: T0 + 9 }),
      upsert("a", { v: 4 }, { version: 4 }),
      remove("a", { version: 5 }),
      increment("a", { v: 1 }, { version: 1 }),
      upsert("b", { new: 1 }, { version: 1 }),
    ]);
    expect(result).toEqual({ applied: 1, stale: 4 });
    expect(await readDocument(harness, view, "a")).toStrictEqual(before);
    expect(await documents.write(view, [upsert("a", { v: 6 }, { version: 60 })])).toEqual({
      applied: 1,
      stale: 0,
    });
  });

  it("without a version a write is one above the present, so never stale", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    await documents.write(view, [upsert("a", { n: 1 })]);
    expect((await readDocument(harness, view, "a"))?.version).toBe(1);
    await documents.write(view, [upsert("a", { n: 2 }, { version: 41 }), upsert("a", { n: 3 })]);
    expect(await readDocument(harness, view, "a")).toMatchObject({ version: 42, fields: { n: 3 } });
    await documents.write(view, [remove("a"), upsert("a", { n: 4 })]);
    expect(await readDocument(harness, view, "a")).toMatchObject({ version: 44, fields: { n: 4 } });
  });

  it("writes of one call apply in order, key by key", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    const result = await documents.write(view, [
      upsert("a", { n: 1 }, { version: 1 }),
      upsert("b", { n: 1 }, { version: 1 }),
      upsert("a", { n: 2 }, { version: 2 }),
      remove("b", { version: 2 }),
      upsert("a", { n: 0 }, { version: 1 }),
      upsert("b", { n: 3 }, { version: 3 }),
      increment("a", { n: 40 }),
    ]);
    expect(result).toEqual({ applied: 6, stale: 1 });
    expect(await readDocument(harness, view, "a")).toMatchObject({ version: 3, fields: { n: 42 } });
    expect(await readDocument(harness, view, "b")).toMatchObject({ version: 3, fields: { n: 3 } });
  });

  it("writes of two handles at once: the highest version wins, and every write is counted", async () => {
    const second = await harness.second();
    const view = unique("view");
    const results = await Promise.all(
      range(1, 20).map((version) =>
        (version % 2 === 0 ? harness.store : second).documents.write(view, [
          upsert("a", { version }, { version }),
          increment("sum", { n: 1 }),
        ]),
      ),
    );
    expect(results.reduce((sum, r) => sum + r.applied + r.stale, 0)).toBe(40);
    expect(await readDocument(harness, view, "a")).toMatchObject({ version: 20, fields: { version: 20 } });
    expect(await readDocument(harness, view, "sum")).toMatchObject({ version: 20, fields: { n: 20 } });
  });

  it("an empty list of writes changes nothing", async () => {
    expect(await harness.store.documents.write(unique("view"), [])).toEqual({ applied: 0, stale: 0 });
  });

  it("`expected` is for transact: write refuses it with INVALID_OPTION", async () => {
    const view = unique("view");
    await failsWith(
      "INVALID_OPTION",
      harness.store.documents.write(view, [upsert("a", { n: 1 }, { expected: null })]),
    );
    expect(await readDocument(harness, view, "a")).toBeUndefined();
  });

  it("P9: hundreds of writes in one call", async () => {
    const view = unique("view");
    const writes = range(1, 600).map((n) => upsert(`k${n % 200}`, { n }, { version: n }));
    expect(await harness.store.documents.write(view, writes)).toEqual({ applied: 600, stale: 0 });
    const found = await harness.store.documents.get(
      view,
      range(0, 199).map((n) => `k${n}`),
    );
    expect(found.size).toBe(200);
    expect(found.get("k0")).toMatchObject({ version: 600, fields: { n: 600 } });
  });
}

function describeTombstones(harness: Harness): void {
  it("a delete hides the document, and a late update cannot bring it back", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    await documents.write(view, [upsert("a", { n: 1 }, { version: 1 }), remove("a", { version: 5 })]);
    expect(await readDocument(harness, view, "a")).toBeUndefined();
    expect((await documents.find(view, { limit: 10 })).documents).toEqual([]);
    expect(await documents.write(view, [upsert("a", { late: true }, { version: 5 })])).toEqual({
      applied: 0,
      stale: 1,
    });
    expect(await readDocument(harness, view, "a")).toBeUndefined();
    await documents.write(view, [upsert("a", { back: true }, { version: 6 })]);
    expect(await readDocument(harness, view, "a")).toMatchObject({ version: 6, fields: { back: true } });
  });

  it("a delete of a document that never was blocks late updates too", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    expect(await documents.write(view, [remove("a", { version: 7 })])).toEqual({ applied: 1, stale: 0 });
    expect((await documents.write(view, [upsert("a", { n: 1 }, { version: 6 })])).stale).toBe(1);
    expect(await readDocument(harness, view, "a")).toBeUndefined();
  });

  it("purge removes tombstones older than a time, and only them", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    await documents.write(view, [
      remove("old", { version: 5, ts: T0 }),
      remove("new", { version: 5, ts: T0 + 100 }),
      upsert("alive", { n: 1 }, { version: 5, ts: T0 }),
    ]);
    expect(await documents.purge(view, T0)).toBe(0);
    expect(await documents.purge(view, T0 + 100)).toBe(1);
    expect(await documents.purge(view, T0 + 100)).toBe(0);
    const late = await documents.write(view, [
      upsert("old", { n: 1 }, { version: 1 }),
      upsert("new", { n: 1 }, { version: 1 }),
    ]);
    expect(late).toEqual({ applied: 1, stale: 1 });
    expect((await readDocument(harness, view, "alive"))?.version).toBe(5);
    expect(await documents.purge(unique("view"), T0)).toBe(0);
  });
}

function describeIncrements(harness: Harness): void {
  it("an increment adds to numbers; absent documents and fields start at 0, other fields stay", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    await documents.write(view, [
      increment("new", { n: 2.5, m: -1 }),
      upsert("old", { n: 10, name: "x", nested: { n: 1 } }),
      increment("old", { n: 5, extra: 1 }, { ts: T0 + 3 }),
    ]);
    expect(await readDocument(harness, view, "new")).toMatchObject({ version: 1, fields: { n: 2.5, m: -1 } });
    expect(await readDocument(harness, view, "old")).toStrictEqual({
      key: "old",
      version: 2,
      ts: T0 + 3,
      fields: { n: 15, name: "x", nested: { n: 1 }, extra: 1 },
    });
  });

  it("an increment of a field that is no number starts it at 0; of a deleted document, all", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    await documents.write(view, [
      upsert("a", { text: "7", none: null, yes: true, list: [1] }),
      increment("a", { text: 1, none: 2, yes: 3, list: 4 }),
      upsert("gone", { n: 100 }),
      remove("gone"),
      increment("gone", { n: 1 }),
    ]);
    expect((await readDocument(harness, view, "a"))?.fields).toEqual({ text: 1, none: 2, yes: 3, list: 4 });
    expect(await readDocument(harness, view, "gone")).toMatchObject({ version: 3, fields: { n: 1 } });
  });

  it.each([1, -1])(
    "an increment beyond the largest number (times %d) is refused, and changes nothing",
    async (sign) => {
      const { documents } = harness.store;
      const view = unique("view");
      const large = sign * 1e308;
      await documents.write(view, [
        increment("a", { n: large, m: 1 }),
        upsert("b", { n: sign * Number.MAX_VALUE }),
      ]);
      await failsWith("INVALID_PAYLOAD", documents.write(view, [increment("a", { n: large, m: 1 })]));
      await failsWith(
        "INVALID_PAYLOAD",
        documents.write(view, [increment("b", { n: sign * 2 ** 970 }, { version: 9 })]),
      );
      expect(await readDocument(harness, view, "a")).toMatchObject({
        version: 1,
        fields: { n: large, m: 1 },
      });
      await documents.write(view, [increment("a", { n: large / 2 }), increment("b", { n: sign * 2 ** 969 })]);
      expect((await readDocument(harness, view, "a"))?.fields).toEqual({ n: large + large / 2, m: 1 });
      expect((await readDocument(harness, view, "b"))?.fields).toEqual({ n: sign * Number.MAX_VALUE });
    },
  );

  it("names of incremented fields are data: a.b is one field, and so is $inc", async () => {
    const view = unique("view");
    const by: Record<string, number> = JSON.parse('{"a.b":1,"$inc":2,"__proto__":3,"_key":4,"":5}');
    await harness.store.documents.write(view, [increment("k", by), increment("k", by)]);
    const fields = (await readDocument(harness, view, "k"))?.fields ?? {};
    expect(Object.entries(fields).sort()).toEqual(
      Object.entries(by)
        .map(([name, n]) => [name, 2 * n])
        .sort(),
    );
  });
}

function describeContent(harness: Harness): void {
  // A half of a surrogate pair has no UTF-8 form, and databases that query documents keep text as UTF-8.
  const storable = ODD_PAYLOADS.filter(([name]) => name !== HALF_PAIR);

  it.each(storable)("keeps a field as it came: %s", async (_, value) => {
    const view = unique("view");
    const fields = { value } as JsonObject;
    await harness.store.documents.write(view, [upsert("a", fields)]);
    const found = await (await harness.second()).documents.get(view, ["a"]);
    expect(found.get("a")?.fields).toStrictEqual(fields);
    expect(JSON.stringify(found.get("a")?.fields)).toBe(JSON.stringify(fields));
  });

  it("a zero has no sign, as in JSON", async () => {
    const view = unique("view");
    const { documents, capabilities } = harness.store;
    await documents.write(view, [upsert("a", { n: -0, list: [-0, { n: -0 }] }), increment("b", { n: -0 })]);
    const unit = [increment("c", { n: -0 })];
    if (capabilities.transactions) await documents.transact({ writes: [{ view, writes: unit }] });
    else await documents.write(view, unit);
    const found = await documents.get(view, ["a", "b", "c"]);
    expect(found.get("a")?.fields).toStrictEqual({ n: 0, list: [0, { n: 0 }] });
    for (const key of ["b", "c"]) expect(found.get(key)?.fields).toStrictEqual({ n: 0 });
  });

  it("names that every object knows are data, with lists of objects under them too", async () => {
    const view = unique("view");
    const list = [{ n: 1 }, [{ n: [{}] }]];
    const names = ["__proto__", "constructor", "toString", "valueOf", "hasOwnProperty"];
    const fields: JsonObject = JSON.parse(
      `{${names.map((name) => `"${name}":${JSON.stringify(list)}`).join()}}`,
    );
    await harness.store.documents.write(view, [upsert("a", { ...fields, deep: [fields] })]);
    const found = (await readDocument(harness, view, "a"))?.fields as { deep: JsonObject[] };
    for (const object of [found, found.deep[0] as JsonObject]) {
      for (const name of names) expect(Object.getOwnPropertyDescriptor(object, name)?.value).toEqual(list);
    }
    expect((await harness.store.documents.find(view, { limit: 1 })).documents[0]?.fields).toEqual(found);
  });

  it("odd names of fields and odd keys are data", async () => {
    const view = unique("view");
    const fields: JsonObject = JSON.parse(
      '{"__proto__":{"x":1},"$where":"1","a.b":1,"_id":7,"_key":"k","key":"k2","version":-1,"ts":"t","":0}',
    );
    const keys = ["", "__proto__", "a.b", "$k", "ü🙂", "x".repeat(1_000), "A", "a", " a"];
    await harness.store.documents.write(
      view,
      keys.map((key) => upsert(key, fields)),
    );
    const found = await (await harness.second()).documents.get(view, keys);
    expect([...found.keys()].sort()).toEqual([...keys].sort());
    for (const document of found.values()) {
      expect(Object.entries(document.fields).sort()).toStrictEqual(Object.entries(fields).sort());
      expect([document.version, document.ts]).toEqual([1, T0]);
    }
  });

  it("what the caller does to its fields afterwards does not reach the store", async () => {
    const view = unique("view");
    const fields = { list: [1, 2] };
    await harness.store.documents.write(view, [upsert("a", fields)]);
    fields.list.push(3);
    expect((await readDocument(harness, view, "a"))?.fields).toEqual({ list: [1, 2] });
  });
}
