import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DocumentWrite } from "../../../ports/documents.js";
import { memoryStore } from "../../memory/index.js";
import type { OperationName } from "../protocol.js";
import { Connection } from "../sqlite.js";
import { WriteEngine } from "../threads/write-engine.js";
import { packWrites } from "./document-message.js";
import { documentOf, findDocuments } from "./document-reader.js";
import { findView } from "./document-view.js";

const VIEW = "counters";
const KEYS = ["a", "b", "a\0b", "", "é", "é😀", "\ufffd", 'qu"ote\\ud800'];

const key = fc.constantFrom(...KEYS);
const version = fc.option(fc.constantFrom(1, 2, 3, 0.1 + 0.2, 2.5, 2 ** 60, Number.POSITIVE_INFINITY), {
  nil: undefined,
});
const amounts = fc.dictionary(
  fc.constantFrom("n", "m", "__proto__", "0"),
  fc.constantFrom(1, -2, 0.1, 1e300),
);
const fields = fc.dictionary(
  fc.constantFrom("n", "m", "text"),
  fc.constantFrom<number | string | null>(7, "x\0y", null),
);
const base = fc.record({ key, ts: fc.integer({ min: 0, max: 9 }), version });
const write = fc
  .oneof(
    fc.tuple(base, fields).map(([o, f]) => ({ ...o, op: "upsert" as const, fields: f })),
    base.map((o) => ({ ...o, op: "delete" as const })),
    fc.tuple(base, amounts).map(([o, by]) => ({ ...o, op: "increment" as const, by })),
  )
  .map(({ version: v, ...rest }) => (v === undefined ? rest : { ...rest, version: v }) as DocumentWrite);

describe("many writes at once", () => {
  let folder: string;
  let engine: WriteEngine;
  let connection: Connection;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "promethean-batch-"));
    const path = join(folder, "bus.db");
    engine = new WriteEngine({
      path,
      durability: "os",
      busyTimeoutMs: 1_000,
      maxBytes: undefined,
      exclusive: false,
      pollMs: 1_000,
    });
    connection = new Connection(path, { busyTimeoutMs: 1_000 });
  });
  afterEach(() => {
    connection.close();
    engine.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("end as the same writes do one by one in memory", async () => {
    const batches = fc.array(fc.array(write, { minLength: 1, maxLength: 90 }), {
      minLength: 1,
      maxLength: 3,
    });
    await fc.assert(
      fc.asyncProperty(batches, async (calls) => {
        const model = memoryStore();
        await model.open();
        engine.run([{ number: 1, name: "dropView", argument: { view: VIEW } }]);
        for (const writes of calls) {
          const argument = { parts: [packWrites(VIEW, writes)], cursor: undefined };
          const { replies } = engine.run([{ number: 2, name: "writeDocuments", argument }]);
          expect(replies).toEqual([{ number: 2, answer: await model.documents.write(VIEW, writes) }]);
        }
        const { documents } = await model.documents.find(VIEW, { limit: 100 });
        expect(findDocuments(connection, VIEW, { limit: 100 }).map(documentOf)).toEqual(documents);
        const counted = connection.sql("SELECT documents FROM view").get<[number]>();
        expect(counted).toEqual([documents.length]);
      }),
      { numRuns: 60 },
    );
  });

  it("P9: what is remembered of documents is what stands in the file, whatever came between", async () => {
    const batch = fc.array(write, { minLength: 1, maxLength: 30 });
    const type = fc.constantFrom("write", "write", "write", "other", "undone", "purge", "drop");
    const step = fc.record({ type, batch });
    const other = new WriteEngine({
      path: connection.path,
      durability: "os",
      busyTimeoutMs: 1_000,
      maxBytes: undefined,
      exclusive: false,
      pollMs: 1_000,
    });
    const call = (by: WriteEngine, name: OperationName, argument: unknown): unknown =>
      by.run([{ number: 1, name, argument }]).replies[0];
    const parts = (writes: readonly DocumentWrite[]): unknown => ({
      parts: [packWrites(VIEW, writes)],
      cursor: undefined,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const model = memoryStore();
        await model.open();
        call(engine, "dropView", { view: VIEW });
        for (const one of steps) {
          if (one.type === "drop") {
            call(engine, "dropView", { view: VIEW });
            await model.documents.drop(VIEW);
          } else if (one.type === "purge") {
            const answer = await model.documents.purge(VIEW, 5);
            expect(call(engine, "purgeView", { view: VIEW, beforeTs: 5 })).toMatchObject({ answer });
          } else if (one.type === "undone") {
            const failing: DocumentWrite = { op: "delete", key: "a", ts: 1, expected: -1 };
            expect(call(engine, "writeDocuments", parts([...one.batch, failing]))).toMatchObject({
              error: { code: "WRITE_CONFLICT" },
            });
          } else {
            const answer = await model.documents.write(VIEW, one.batch);
            const by = one.type === "other" ? other : engine;
            expect(call(by, "writeDocuments", parts(one.batch))).toMatchObject({ answer });
          }
        }
        const { documents } = await model.documents.find(VIEW, { limit: 100 });
        expect(findDocuments(connection, VIEW, { limit: 100 }).map(documentOf)).toEqual(documents);
      }),
      { numRuns: 60 },
    );
    other.close();
  });

  it("more documents than are remembered, and longer ones, count as well", () => {
    const add = (n: number): DocumentWrite => ({
      op: "increment",
      key: `k${n}`,
      ts: 1,
      by: { n: 1, ["x".repeat(n % 2 === 0 ? 2_000 : 1)]: 1 },
    });
    const all = Array.from({ length: 20_000 }, (_, n) => add(n));
    for (let round = 0; round < 2; round++) {
      for (let from = 0; from < all.length; from += 5_000) {
        const argument = { parts: [packWrites(VIEW, all.slice(from, from + 5_000))], cursor: undefined };
        expect(engine.run([{ number: 1, name: "writeDocuments", argument }]).replies[0]).toMatchObject({
          answer: { applied: 5_000 },
        });
      }
    }
    const { table } = findView(connection, VIEW) as { table: string };
    const sums = `SELECT count(*), sum(fields ->> '$.n'), sum(version) FROM ${table}`;
    expect(connection.prepare(sums).get()).toEqual([20_000, 40_000, 40_000]);
  });

  it("keys that are stored as the same text are one document, whichever of them was remembered", () => {
    for (const k of ["x\ufffd", "x\ud800", "x\ufffd", "x\udfff"]) {
      const writes: DocumentWrite[] = [{ op: "increment", key: k, ts: 1, by: { n: 1 } }];
      const argument = { parts: [packWrites(VIEW, writes)], cursor: undefined };
      engine.run([{ number: 1, name: "writeDocuments", argument }]);
    }
    expect(findDocuments(connection, VIEW, { limit: 100 }).map(documentOf)).toMatchObject([
      { key: "x\ufffd", version: 4, fields: { n: 4 } },
    ]);
  });

  it("a sum that JSON cannot hold is refused, and nothing of the call happens", () => {
    const add: DocumentWrite = { op: "increment", key: "a", ts: 1, by: { n: 1e308 } };
    const run = (writes: DocumentWrite[]) => {
      const argument = { parts: [packWrites(VIEW, writes)], cursor: undefined };
      return engine.run([{ number: 1, name: "writeDocuments", argument }]).replies[0];
    };
    expect(run([add, add])).toMatchObject({ error: { code: "INVALID_PAYLOAD" } });
    expect(run([add])).toMatchObject({ answer: { applied: 1 } });
  });

  it("a value that must be unique goes from one document to another and back within one call", () => {
    const index = { keys: { email: 1 as const }, unique: true };
    const email = (k: string, value: string): DocumentWrite => ({
      op: "upsert",
      key: k,
      ts: 1,
      fields: { email: value },
    });
    const run = (writes: DocumentWrite[]) =>
      engine.run([
        { number: 1, name: "defineView", argument: { view: VIEW, indexes: [index] } },
        {
          number: 2,
          name: "writeDocuments",
          argument: { parts: [packWrites(VIEW, writes)], cursor: undefined },
        },
      ]).replies[1];
    run([email("a", "x"), email("b", "y")]);
    const around = [email("a", "z"), email("b", "x"), email("a", "y"), email("c", "z")];
    expect(run(around)).toMatchObject({ answer: { applied: 4, stale: 0 } });
    expect(run([email("d", "x")])).toMatchObject({ error: { code: "WRITE_CONFLICT" } });
  });
});
