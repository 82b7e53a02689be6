/** Views themselves: defined, listed, held to unique indexes, dropped. */
import { describe, expect, it } from "vitest";
import type { ViewInfo } from "../../ports/documents.js";
import { remove, upsert } from "./document-writes.js";
import type { Harness } from "./harness.js";
import { failsWith, unique } from "./samples.js";

export function describeViews(harness: Harness): void {
  describe("define", () => describeIndexes(harness));
  describe("views and drop", () => describeListing(harness));
}

async function infoOf(harness: Harness, view: string): Promise<ViewInfo | undefined> {
  return (await harness.store.documents.views()).find((info) => info.view === view);
}

function describeIndexes(harness: Harness): void {
  it("creates the view and its indexes once, also when two define it at once", async () => {
    const second = await harness.second();
    const view = unique("view");
    const indexes = [{ keys: { host: 1, "at.n": -1 } }, { keys: { name: 1 }, unique: true }] as const;
    await Promise.all([
      harness.store.documents.define(view, indexes),
      second.documents.define(view, indexes),
      harness.store.documents.define(view, []),
    ]);
    await second.documents.define(view, [indexes[0], { keys: { extra: -1 } }]);
    const info = await infoOf(harness, view);
    expect(info?.documents).toBe(0);
    expect(info?.indexes.map((i) => [JSON.stringify(i.keys), i.unique === true]).sort()).toEqual([
      ['{"extra":-1}', false],
      ['{"host":1,"at.n":-1}', false],
      ['{"name":1}', true],
    ]);
  });

  it("answers stay the same with an index", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    await documents.write(view, [upsert("old", { host: "h1" })]);
    await documents.define(view, [{ keys: { host: 1 } }, { keys: { "at.n": -1 } }]);
    await documents.write(view, [upsert("new", { host: "h1", at: { n: 2 } }), upsert("none", {})]);
    const found = await documents.find(view, { where: { host: "h1" }, limit: 10 });
    expect(found.documents.map((d) => d.key)).toEqual(["new", "old"]);
    const ordered = await documents.find(view, { order: { field: "at.n", descending: true }, limit: 10 });
    expect(ordered.documents.map((d) => d.key)).toEqual(["new", "old", "none"]);
  });

  it("a unique index refuses a second document with the same values: WRITE_CONFLICT", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    await documents.define(view, [{ keys: { host: 1, "at.n": 1 }, unique: true }]);
    await documents.write(view, [
      upsert("a", { host: "h", at: { n: 1 } }),
      upsert("b", { host: "h", at: { n: 2 } }),
    ]);
    await failsWith("WRITE_CONFLICT", documents.write(view, [upsert("c", { host: "h", at: { n: 1 } })]));
    await failsWith("WRITE_CONFLICT", documents.write(view, [upsert("b", { host: "h", at: { n: 1 } })]));
    const found = await documents.find(view, { limit: 10 });
    expect(found.documents.map((d) => [d.key, d.version, d.fields.at])).toEqual([
      ["a", 1, { n: 1 }],
      ["b", 1, { n: 2 }],
    ]);
    await documents.write(view, [upsert("a", { host: "h", at: { n: 1 }, more: true })]);
  });

  it("a unique index does not count deleted documents, nor those that lack one of its fields", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    await documents.define(view, [{ keys: { email: 1 }, unique: true }]);
    await documents.write(view, [upsert("a", { email: "x" }), upsert("none1", {}), upsert("none2", {})]);
    await documents.write(view, [remove("a"), upsert("b", { email: "x" }), remove("none1")]);
    await documents.write(view, [upsert("b", { email: "y" }), upsert("c", { email: "x" })]);
    const found = await documents.find(view, { limit: 10 });
    expect(found.documents.map((d) => d.key)).toEqual(["b", "c", "none2"]);
  });

  it("a unique index over documents that violate it: WRITE_CONFLICT, and no index", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    await documents.write(view, [upsert("a", { email: "x" }), upsert("b", { email: "x" })]);
    await failsWith("WRITE_CONFLICT", documents.define(view, [{ keys: { email: 1 }, unique: true }]));
    expect((await infoOf(harness, view))?.indexes).toEqual([]);
    await documents.write(view, [upsert("c", { email: "x" })]);
  });
}

function describeListing(harness: Harness): void {
  it("a view exists once it was written or defined; its documents are those one can see", async () => {
    const { documents } = harness.store;
    const [written, defined, never] = [unique("view-w"), unique("view-d"), unique("view-n")];
    await documents.write(written, [upsert("a", {}), upsert("b", {}), upsert("b", {}), remove("a")]);
    await documents.define(defined, []);
    await documents.get(never, ["a"]);
    await documents.find(never, { limit: 1 });
    expect(await infoOf(harness, written)).toEqual({ view: written, documents: 1, indexes: [] });
    expect(await infoOf(harness, defined)).toEqual({ view: defined, documents: 0, indexes: [] });
    expect(await infoOf(harness, never)).toBeUndefined();
    const names = (await documents.views()).map((info) => info.view);
    expect(names).toEqual([...names].sort());
  });

  it("odd view names are names, and each is a view of its own", async () => {
    const { documents } = harness.store;
    const names = ["a.b_c-d", "a.b", "a", "0", "system.x", "x".repeat(120)];
    for (const [n, view] of names.entries()) await documents.write(view, [upsert("k", { n })]);
    for (const [n, view] of names.entries()) {
      expect((await documents.get(view, ["k"])).get("k")?.fields).toEqual({ n });
    }
    for (const view of names) await documents.drop(view);
  });

  it("drop takes documents, tombstones and indexes; dropping nothing is harmless", async () => {
    const { documents } = harness.store;
    const view = unique("view");
    await documents.define(view, [{ keys: { n: 1 }, unique: true }]);
    await documents.write(view, [upsert("a", { n: 1 }, { version: 9 }), remove("b", { version: 9 })]);
    await documents.drop(view);
    await documents.drop(view);
    expect(await infoOf(harness, view)).toBeUndefined();
    expect((await documents.get(view, ["a"])).size).toBe(0);
    const anew = [upsert("a", { n: 1 }, { version: 1 }), upsert("b", { n: 1 }, { version: 1 })];
    expect(await documents.write(view, anew)).toEqual({ applied: 2, stale: 0 });
  });
}
