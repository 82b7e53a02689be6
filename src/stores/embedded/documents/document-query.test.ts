import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../model/json.js";
import type {
  DocumentQuery,
  FieldCondition,
  FieldValue,
  ViewDocument,
  ViewIndex,
} from "../../../ports/documents.js";
import { runQuery } from "../../memory/document-query.js";
import { Connection } from "../sqlite.js";
import { WriteEngine } from "../threads/write-engine.js";
import { packWrites } from "./document-message.js";
import { findSql } from "./document-query.js";
import { documentOf, findDocuments, pageOf } from "./document-reader.js";

const VIEW = "people";
const PATHS = ["a", "b", "a.b", "c.d.e", 'we"ird', "b\\s", "it's", "$where", "__proto__", ""];

const scalar = fc.oneof(
  fc.constantFrom<FieldValue>(
    null,
    true,
    false,
    0,
    1,
    -1,
    1.5,
    2 ** 53,
    1e300,
    "",
    "a",
    "b",
    "ab",
    "é",
    "\u{1f642}",
    "\ue000",
  ),
  fc.string(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (n === 0 ? 0 : n)),
);
const anything = fc.oneof(
  { weight: 4, arbitrary: scalar },
  fc.array(scalar, { maxLength: 2 }),
  fc.dictionary(fc.constantFrom("b", "d"), fc.oneof(scalar, fc.dictionary(fc.constant("e"), scalar))),
);
const fields = fc
  .array(
    fc.tuple(fc.constantFrom("a", "b", "c", 'we"ird', "b\\s", "it's", "$where", "__proto__", ""), anything),
    {
      maxLength: 5,
    },
  )
  .map((members) => Object.fromEntries(members) as JsonObject);
const bound = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -2, max: 2 }),
  fc.string(),
  fc.constantFrom("", "a", "é"),
);
const condition: fc.Arbitrary<FieldValue | FieldCondition> = fc.oneof(
  scalar,
  fc.record(
    {
      eq: scalar,
      ne: scalar,
      in: fc.array(scalar, { maxLength: 3 }),
      gt: bound,
      gte: bound,
      lt: bound,
      lte: bound,
      prefix: fc.oneof(
        fc.constantFrom("", "a", "\u{1f642}", "\ud7ff", "\u{10ffff}"),
        fc.string({ maxLength: 2 }),
      ),
      exists: fc.boolean(),
    },
    { requiredKeys: [] },
  ),
);
const query: fc.Arbitrary<Omit<DocumentQuery, "after">> = fc
  .record({
    where: fc.dictionary(fc.constantFrom(...PATHS, "_key"), condition, { maxKeys: 2 }),
    order: fc.option(fc.record({ field: fc.constantFrom(...PATHS, "_key"), descending: fc.boolean() }), {
      nil: undefined,
    }),
    limit: fc.integer({ min: 1, max: 7 }),
  })
  .map(({ where, order, limit }) => ({ where, limit, ...(order && { order }) }));

describe("document queries", () => {
  let folder: string;
  let engine: WriteEngine;
  let connection: Connection;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "promethean-query-"));
    const path = join(folder, "bus.db");
    engine = new WriteEngine({
      path,
      durability: "os",
      busyTimeoutMs: 50,
      maxBytes: undefined,
      exclusive: false,
      pollMs: 20,
    });
    connection = new Connection(path, { busyTimeoutMs: 50 });
  });
  afterEach(() => {
    connection.close();
    engine.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function put(
    documents: readonly { key: string; fields: JsonObject }[],
    indexes: readonly ViewIndex[] = [],
  ): void {
    const writes = documents.map(({ key, fields }) => ({ op: "upsert" as const, key, ts: 1, fields }));
    const { replies } = engine.run([
      { number: 1, name: "dropView", argument: { view: VIEW } },
      { number: 2, name: "defineView", argument: { view: VIEW, indexes } },
      {
        number: 3,
        name: "writeDocuments",
        argument: { parts: [packWrites(VIEW, writes)], cursor: undefined },
      },
    ]);
    for (const reply of replies) expect(reply).not.toHaveProperty("error");
  }

  /** Every page of a query, one after the other. */
  function pages(
    asked: DocumentQuery,
    page: (query: DocumentQuery) => { documents: readonly ViewDocument[]; next: string | null },
  ): string[][] {
    const found: string[][] = [];
    for (let after: string | undefined; ; ) {
      const { documents, next } = page(after === undefined ? asked : { ...asked, after });
      found.push(documents.map(({ key }) => key));
      if (next === null) return found;
      after = next;
    }
  }

  it("answer as the memory store does, page by page, whatever is asked and whatever is there", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.record({ key: fc.string(), fields }), {
          selector: ({ key }) => key,
          maxLength: 20,
        }),
        fc.array(query, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (documents, queries, indexed) => {
          put(
            documents,
            indexed ? [{ keys: { a: 1, b: -1 } }, { keys: { 'we"ird': -1 } }, { keys: { "it's": 1 } }] : [],
          );
          const stored = documents.map(
            ({ key, fields: own }): ViewDocument => ({ key, version: 1, ts: 1, fields: own }),
          );
          for (const asked of queries) {
            const wanted = pages(asked, (q) => runQuery(stored, q));
            expect(pages(asked, (q) => pageOf(findDocuments(connection, VIEW, q), q))).toEqual(wanted);
          }
        },
      ),
      { numRuns: 60 },
    );
  }, 60_000);

  it("give documents back as they went in", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fields, (key, own) => {
        put([{ key, fields: own }]);
        const found = findDocuments(connection, VIEW, { limit: 5 }).map(documentOf);
        expect(found).toEqual([{ key, version: 1, ts: 1, fields: own }]);
      }),
      { numRuns: 50 },
    );
  });

  it("use the declared indexes for filters and for orders", () => {
    put(
      [],
      [{ keys: { host: 1, "load.cpu": -1 } }, { keys: { name: 1 } }, { keys: { email: 1 }, unique: true }],
    );
    const plan = (asked: DocumentQuery): string => {
      const { text, values } = findSql("doc_1", asked);
      return connection
        .prepare(`EXPLAIN QUERY PLAN ${text}`)
        .all(...values)
        .map((row) => row[3])
        .join("; ");
    };
    expect(plan({ where: { host: "a" }, limit: 5 })).toContain("doc_1_i0 (<expr>=? AND <expr>=?");
    expect(plan({ where: { host: "a", "load.cpu": { gt: 3 } }, limit: 5 })).toContain("doc_1_i0");
    expect(plan({ where: { name: { gte: "a", lt: "b" } }, limit: 5 })).toContain(
      "doc_1_i1 (<expr>=? AND <expr>>?",
    );
    expect(plan({ where: { name: { prefix: "a" } }, limit: 5 })).toContain("doc_1_i1");
    expect(plan({ order: { field: "name" }, limit: 5 })).toBe("SCAN doc_1 USING INDEX doc_1_i1");
    expect(plan({ order: { field: "name", descending: true }, limit: 5 })).toBe(
      "SCAN doc_1 USING INDEX doc_1_i1",
    );
    expect(plan({ where: { _key: { prefix: "a" } }, limit: 5 })).toContain("SEARCH doc_1 USING PRIMARY KEY");
    expect(plan({ limit: 5 })).not.toContain("TEMP B-TREE");
  });
});
