/** Many writes to a view at once, which go in one transaction where that is safe. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/model/json.js";
import type { DocumentWrite } from "../../../src/ports/documents.js";
import type { Store } from "../../../src/ports/store.js";
import { memoryStore } from "../../../src/stores/memory/index.js";
import { upsert } from "../../../src/testing/conformance/document-writes.js";
import { claimed, started } from "../../../src/testing/conformance/group-leases.js";
import { failsWith, openMember } from "../../../src/testing/conformance/samples.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";
import { NotedClient } from "../../support/mongo/noted-client.js";
import { deadMember, TAKING_OVER_MS } from "../../support/mongo/taking-over.js";

const VIEW = "v";
const MANY = 40;
let database: TestDatabase;
let noted: NotedClient;
const failPoint = new FailPoint(() => database.client);

beforeEach(async () => {
  database = await TestDatabase.create();
  noted = new NotedClient(database.urlWith(`appName=${database.name}`));
});
afterEach(async () => {
  await failPoint.release();
  await database.dispose();
  await noted.close();
});

const ofAll = (fields: (i: number) => JsonObject): DocumentWrite[] =>
  Array.from({ length: MANY }, (_, i) => upsert(`k${i}`, fields(i)));
const commits = (): number => noted.named("commitTransaction").length;

/** Of a process that somebody would take over from. */
async function withMember(): Promise<Store> {
  const store = await database.open({ client: noted.client });
  await openMember(store);
  return store;
}

async function contentOf(store: Store): Promise<unknown> {
  const { documents } = await store.documents.find(VIEW, { limit: 1_000 });
  return documents.map(({ key, version, fields }) => [key, version, fields]);
}

const key = fc.constantFrom("a", "b", "c", "d", "__proto__");
const version = fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined });
const values = fc.dictionary(
  fc.constantFrom("n", "m", "$x", "a.b"),
  fc.constantFrom<number | string>(7, 0.5, "$n"),
);
const amounts = fc.dictionary(fc.constantFrom("n", "m"), fc.constantFrom(1, -2, 0.25));
const write: fc.Arbitrary<DocumentWrite> = fc
  .record({ key, version, op: fc.constantFrom("upsert", "delete", "increment"), values, amounts })
  .map(({ key, version, op, values, amounts }) => {
    const base = { key, ts: 1, ...(version !== undefined && { version }) };
    if (op === "upsert") return { op, ...base, fields: values };
    return op === "delete" ? { op, ...base } : { op: "increment", ...base, by: amounts };
  });

describe("many writes to a view", () => {
  it("are one transaction, and come to what they come to one by one", async () => {
    const store = await withMember();
    await fc.assert(
      fc.asyncProperty(fc.array(write, { minLength: 16, maxLength: 40 }), async (writes) => {
        const model = memoryStore();
        await model.open();
        noted.forget();
        expect(await store.documents.write(VIEW, writes)).toEqual(await model.documents.write(VIEW, writes));
        expect(await contentOf(store)).toEqual(await contentOf(model));
        await store.documents.drop(VIEW);
      }),
      { numRuns: 60 },
    );
    await store.documents.write(
      VIEW,
      ofAll((n) => ({ n })),
    );
    expect(commits()).toBeGreaterThan(0);
  });

  it("go each by itself where nobody would end the transaction of a process that died", async () => {
    const store = await database.open({ client: noted.client });
    expect(
      await store.documents.write(
        VIEW,
        ofAll((n) => ({ n })),
      ),
    ).toEqual({ applied: MANY, stale: 0 });
    expect(commits()).toBe(0);
  });

  it("of which one is refused: those before it are there, as if each had gone by itself", async () => {
    const store = await withMember();
    await store.documents.define(VIEW, [{ keys: { n: 1 }, unique: true }]);
    await failsWith(
      "WRITE_CONFLICT",
      store.documents.write(
        VIEW,
        ofAll((n) => ({ n: Math.min(n, MANY - 2) })),
      ),
    );
    expect(await contentOf(store)).toHaveLength(MANY - 1);
  });

  it("more than fit into one transaction are several", async () => {
    const store = await withMember();
    const writes = Array.from({ length: 2_500 }, (_, i) => upsert(`k${i}`, { n: i }));
    expect(await store.documents.write(VIEW, writes)).toEqual({ applied: 2_500, stale: 0 });
    expect(commits()).toBe(3);
  });

  it(
    "P7, P15: hold up nobody who takes over from a process that stopped in the middle of them",
    async () => {
      const first = await database.open({ client: noted.client });
      const second = await database.open();
      const ref = await started(first);
      await claimed(first, ref, await deadMember(first));
      await first.documents.define(VIEW, []);
      const block = { blockConnection: true, blockTimeMS: 30_000, appName: database.name };
      await failPoint.set(1, { failCommands: ["commitTransaction"], ...block });
      const stopped = first.documents.write(VIEW, ofAll(() => ({ by: "the first" })).map(versioned(1)));
      await expect.poll(commits).toBe(1);
      await claimed(second, ref, await openMember(second));
      await second.documents.write(VIEW, ofAll(() => ({ by: "the second" })).map(versioned(2)));
      await failPoint.release();
      await stopped;
      const found = await second.documents.get(VIEW, ["k0", `k${MANY - 1}`]);
      expect([...found.values()].map(({ fields }) => fields["by"])).toEqual(["the second", "the second"]);
    },
    TAKING_OVER_MS,
  );
});

const versioned =
  (version: number) =>
  (write: DocumentWrite): DocumentWrite => ({ ...write, version });
