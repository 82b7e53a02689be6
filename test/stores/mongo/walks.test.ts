/** However much a store holds, the server looks at about as much of it as a question is about. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/model/json.js";
import { START_CURSOR } from "../../../src/ports/groups.js";
import type { Store } from "../../../src/ports/store.js";
import { draft, T0 } from "../../../src/testing/conformance/samples.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { passTime } from "../../support/mongo/logical-time.js";
import { type Plan, plansOf } from "../../support/mongo/plans.js";
import { ReplicaSet } from "../../support/mongo/replica-set.js";

/** What is there, and what a question that is about a few may look at. */
const MANY = 400;
const FEW = 40;

let database: TestDatabase;
let store: Store;

beforeEach(async () => {
  database = await TestDatabase.create();
  store = await database.open();
});
afterEach(() => database.dispose());

type Looked = (plan: Plan) => number;
const atDocuments: Looked = ({ examined }) => examined;
const atAnything: Looked = ({ examined, keys }) => Math.max(examined, keys);

/** Of that collection, for one command. */
async function mostExamined(
  collection: string,
  work: () => Promise<unknown>,
  { where = database, looked = atDocuments }: { where?: TestDatabase; looked?: Looked } = {},
): Promise<number> {
  const plans = (await plansOf(where, work)).filter((plan) => plan.collection === collection);
  expect(plans).not.toEqual([]);
  return Math.max(...plans.map(looked));
}

describe("a view", () => {
  const VIEW = "hosts";

  beforeEach(async () => {
    await store.documents.define(VIEW, [{ keys: { host: 1 } }]);
    const all = Array.from({ length: MANY }, (_, i) => ({ key: `k${i}`, ts: T0, fields: { host: `h${i}` } }));
    await store.documents.write(
      VIEW,
      all.map((one) => ({ op: "upsert", ...one })),
    );
    await store.documents.write(VIEW, [{ op: "delete", key: "k7", ts: T0 }]);
  });

  it("is counted by its tombstones", async () => {
    const count = async (): Promise<void> => {
      expect(await store.documents.views()).toMatchObject([{ view: VIEW, documents: MANY - 1 }]);
    };
    expect(await mostExamined(`view.${VIEW}`, count)).toBeLessThan(FEW);
  });

  it("is read in the order of an index", async () => {
    const order = { field: "host" };
    const keys = async (): Promise<string[]> =>
      (await store.documents.find(VIEW, { limit: 3, order })).documents.map(({ key }) => key);
    await store.documents.write(VIEW, [
      { op: "upsert", key: "z", ts: T0, fields: {} },
      { op: "upsert", key: "n", ts: T0, fields: { host: null } },
    ]);
    expect(await mostExamined(`view.${VIEW}`, keys)).toBeLessThan(FEW);
    expect(await keys()).toEqual(["z", "n", "k0"]);
  });
});

describe("a view that is read from the other end of an index", () => {
  const VIEW = "readings";

  beforeEach(async () => {
    await store.documents.define(VIEW, [{ keys: { at: 1 } }, { keys: { "place.room": 1 } }]);
    const fields = (i: number): JsonObject => ({ at: i, place: { room: `r${i % 7}` } });
    const all = Array.from({ length: MANY }, (_, i) => ({ key: `k${i}`, ts: T0, fields: fields(i) }));
    await store.documents.write(
      VIEW,
      all.map((one) => ({ op: "upsert", ...one })),
    );
  });

  /** Of the first two pages, and the most that the server looked at for a command. */
  async function twoPages(field: string): Promise<{ keys: string[]; most: number }> {
    const order = { field, descending: true };
    const keys: string[] = [];
    const read = async (): Promise<void> => {
      const first = await store.documents.find(VIEW, { limit: 3, order });
      const after = first.next as string;
      const second = await store.documents.find(VIEW, { limit: 3, order, after });
      keys.push(...[...first.documents, ...second.documents].map(({ key }) => key));
    };
    const most = await mostExamined(`view.${VIEW}`, read, { looked: atAnything });
    return { keys, most };
  }

  it("is not walked through for what is no single value", async () => {
    const newest = await twoPages("at");
    expect(newest.keys).toEqual(["k399", "k398", "k397", "k396", "k395", "k394"]);
    expect(newest.most).toBeLessThan(FEW);
    expect((await twoPages("place.room")).most).toBeLessThan(FEW);
    const odd = { o: { at: {} }, half: { at: "\ud800" }, z: { at: "z" } };
    for (const [key, fields] of Object.entries(odd))
      await store.documents.write(VIEW, [{ op: "upsert", key, ts: T0, fields }]);
    const { keys, most } = await twoPages("at");
    expect(keys).toEqual(["o", "half", "z", "k399", "k398", "k397"]);
    expect(most).toBeLessThan(FEW);
  });

  it("shows lists all the same", async () => {
    for (const [key, at] of Object.entries({ empty: [], nested: [[1]], one: [7] }))
      await store.documents.write(VIEW, [{ op: "upsert", key, ts: T0, fields: { at } }]);
    const { keys } = await twoPages("at");
    expect(keys).toEqual(["one", "nested", "empty", "k399", "k398", "k397"]);
  });
});

describe("an outbox with many entries that were sent", () => {
  async function addMany({ outbox }: Store): Promise<void> {
    for (let i = 0; i < MANY; i++) await outbox.add({ id: `e${i}`, topic: "orders", payload: i });
  }

  async function sendMany(to: Store): Promise<void> {
    const { outbox } = to;
    await addMany(to);
    const claims = await outbox.claimBatch(MANY - 1);
    await Promise.all(claims.map(({ id, token }) => outbox.markSent(id, token)));
  }

  it("is counted without a look at them", async () => {
    await sendMany(store);
    const count = async (): Promise<void> => {
      const { sent, pending } = await store.outbox.stats();
      expect({ sent, pending }).toEqual({ sent: MANY - 1, pending: 1 });
    };
    expect(await mostExamined("outbox", count)).toBeLessThan(FEW);
  });

  it("is counted without a look at those that wait", async () => {
    await addMany(store);
    const count = async (): Promise<void> => {
      expect((await store.outbox.stats()).pending).toBe(MANY);
    };
    expect(await mostExamined("outbox", count)).toBeLessThan(FEW);
  });

  it("is rid of old ones without a look at those that stay", async () => {
    // Other tests let time pass for the server that they share: entries of a time that is ahead of the clock are all looked at.
    await using server = await ReplicaSet.start();
    const own = new TestDatabase(server.url);
    try {
      const opened = await own.open();
      const { outbox } = opened;
      await sendMany(opened);
      const nowMs = Date.now();
      const purge = async (): Promise<void> => {
        expect(await outbox.purge(nowMs - 3_600_000, { nowMs })).toBe(0);
      };
      expect(await mostExamined("outbox", purge, { where: own })).toBeLessThan(FEW);
      expect(await outbox.purge(nowMs + 3_600_000, { nowMs })).toBe(MANY - 1);
    } finally {
      await own.dispose();
    }
  }, 60_000);
});

it("entries of an outbox are claimed and settled without a look at those that another drainer holds", async () => {
  const { outbox } = store;
  const add = async (from: number, to: number): Promise<void> => {
    for (let i = from; i < to; i++) await outbox.add({ id: `e${i}`, topic: "orders", payload: i });
  };
  await add(0, MANY);
  expect(await outbox.claimBatch(MANY, { owner: "another" })).toHaveLength(MANY);
  await add(MANY, MANY + 5);
  const drain = async (): Promise<void> => {
    const claims = await outbox.claimBatch(MANY);
    const marked = await Promise.all(claims.map(({ id, token }) => outbox.markSent(id, token)));
    expect(marked).toEqual(Array(5).fill(true));
  };
  expect(await mostExamined("outbox", drain)).toBeLessThan(FEW);
});

describe("a log with many removed events in between", () => {
  const TOPIC = "prices";
  const middle = MANY + 1;
  const answered = async (work: () => Promise<unknown>, answer: unknown): Promise<number> =>
    mostExamined("events", async () => expect(await work()).toEqual(answer), { looked: atAnything });

  beforeEach(async () => {
    await store.registry.defineTopic({ name: TOPIC, partitions: 1 });
    const all = Array.from({ length: 2 * MANY }, (_, n) => draft({ id: `e${n + 1}`, payload: n }));
    for (let n = 0; n < all.length; n += 20) await store.log.append(TOPIC, 0, all.slice(n, n + 20));
    const even = Array.from({ length: MANY }, (_, n) => 2 * (n + 1));
    expect(await store.log.remove(TOPIC, 0, even)).toBe(MANY);
    // Places are freed only a while after they were taken.
    await passTime(database.client, database.name, 20);
  });

  it("P3: tells by few looks whether an id is there, also of ids that are far apart", async () => {
    const find = async () => (await store.log.find(`e${middle}`))?.seq;
    expect(await answered(find, middle)).toBeLessThan(FEW);
    const again = async () => {
      const ids = [`e${middle}`, `e${middle + 2}`];
      const said = ids.map((id, n) => draft({ id, payload: middle + 2 * n - 1 }));
      return [...(await store.log.append(TOPIC, 0, said)).duplicates];
    };
    expect(await answered(again, [0, 1])).toBeLessThan(FEW);
    expect((await store.log.find(`e${middle - 1}`))?.seq).toBeUndefined();
  });

  it("P11: is rid of another one, and of what is below a mark, without a look at all of them", async () => {
    expect(await answered(() => store.log.remove(TOPIC, 0, [middle]), 1)).toBeLessThan(FEW);
    expect((await store.log.read(TOPIC, 0, { after: middle - 2, limit: 3 })).events[0]?.seq).toBe(middle + 2);
    expect(await answered(() => store.log.trim(TOPIC, 0, 5), 3)).toBeLessThan(FEW);
    expect(await store.log.heads(TOPIC)).toMatchObject([{ low: 6, head: 2 * MANY, events: MANY - 4 }]);
  });
});

it("P2: a removal tells which places it may free without a look at all that were taken only now", async () => {
  const append = async (from: number, count: number): Promise<void> => {
    const all = Array.from({ length: count }, (_, n) => draft({ id: `e${from + n}`, payload: n }));
    for (let n = 0; n < count; n += 5) await store.log.append("prices", 0, all.slice(n, n + 5));
  };
  const documents = async () =>
    (await database.client.db(database.name).collection("events").find({ partition: 0 }).toArray()).map(
      ({ seq }) => seq,
    );
  await append(1, 100);
  await passTime(database.client, database.name, 20);
  await append(101, 2 * MANY);
  const remove = async () => {
    expect(await store.log.remove("prices", 0, [98, 99, 102, 103, MANY, MANY + 1])).toBe(6);
  };
  expect(await mostExamined("events", remove)).toBeLessThan(FEW);
  // Each run became a range in the place of its first event.
  const left = await documents();
  expect([98, 99, 102, 103, MANY, MANY + 1].filter((seq) => left.includes(seq))).toEqual([
    98,
    102,
    103,
    MANY,
    MANY + 1,
  ]);
});

describe("many cursors", () => {
  const partitions = Array.from({ length: MANY }, (_, partition) => partition);
  const ref = { topic: "orders", group: "billing" };

  it("are not gone through for those of a member that leaves", async () => {
    const { groups } = store;
    await groups.start(
      ref,
      partitions.map(() => 0),
    );
    const session = { member: "m", host: "h", pid: 1, processStart: "" };
    await groups.open(session, { ttlMs: 60_000, nowMs: T0 });
    expect(await groups.claim({ ...ref, partition: 3 }, "m", { nowMs: T0 })).toMatchObject({
      epoch: 1,
      cursor: START_CURSOR,
    });
    expect(await mostExamined("cursors", () => groups.close("m", { nowMs: T0 }))).toBeLessThan(FEW);
  });
});
