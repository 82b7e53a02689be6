import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DocumentWrite } from "../../ports/documents.js";
import { memoryStore } from "../memory/index.js";
import { packWrites } from "./document-message.js";
import { documentOf, findDocuments } from "./document-reader.js";
import { Connection } from "./sqlite.js";
import { WriteEngine } from "./write-engine.js";

const VIEW = "counters";
const KEYS = ["a", "b", "a\0b", "", "é😀", 'qu"ote\\ud800'];

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
