/** Topics whose events are kept in batches: what is special about them. */
import { Binary, type Document, ObjectId, Timestamp } from "mongodb";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createBus } from "../../../src/bus/create-bus.js";
import { BusError } from "../../../src/model/errors.js";
import type { EventDraft, StoredEvent } from "../../../src/model/event.js";
import type { PublishedRecord, PublishOptions } from "../../../src/model/event-bus.js";
import type { Store } from "../../../src/ports/store.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { draft, drafts, range, seqs } from "../../../src/testing/conformance/samples.js";
import { storedLog } from "../../support/kept-history.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";
import { passTime } from "../../support/mongo/logical-time.js";
import { ReplicaSet, StandaloneServer } from "../../support/mongo/replica-set.js";

const TOPIC = "orders";
/** Of its own: time is moved on it, and whoever else had events there would find them old. */
let server: ReplicaSet;
let database: TestDatabase;
let store: Store;
const failPoint = new FailPoint(() => database.client);

beforeAll(async () => {
  server = await ReplicaSet.start();
});

afterAll(() => server.dispose());

beforeEach(async () => {
  database = new TestDatabase(server.url);
  store = await database.open();
  await store.registry.defineTopic({ name: TOPIC, partitions: 2, layout: "batches", keyed: true });
});
afterEach(async () => {
  await failPoint.release();
  await database.dispose();
});

function readAll(from: Store = store): Promise<StoredEvent[]> {
  return storedLog(from, TOPIC, 0);
}

function batches(): Promise<Document[]> {
  return database.db.collection("batches").find({ topic: TOPIC }).sort({ partition: 1, first: 1 }).toArray();
}

async function spans(): Promise<[number, number][]> {
  return (await batches()).map(({ first, last }) => [first, last]);
}

describe("a batch", () => {
  it("is one document for the events of an append, with chosen ids, keys, correlation ids and causes beside them", async () => {
    const meta = { headers: { correlationId: "c" }, caused_by: ["x"] };
    await store.log.append(TOPIC, 0, [
      draft({ id: "mine", key: "a", meta }),
      draft({ freshId: true, key: "a" }),
      draft({ freshId: true, key: "b" }),
    ]);
    const [document, ...others] = await batches();
    expect(others).toEqual([]);
    expect(document).toMatchObject({ first: 1, last: 3, ids: ["mine"], keys: ["a", "b"] });
    expect(document).toMatchObject({ correlations: ["c"], causes: ["x"] });
    expect(document?.data).toBeInstanceOf(Binary);
    expect(await database.db.collection("events").countDocuments()).toBe(0);
  });

  it("P1, P3: says what was published, though most of it is encoded while an append is under way", async () => {
    const bus = await createBus({ store: await database.open() });
    const payloads = Array.from({ length: 6_000 }, (_, n) => ({
      ...{ n, text: n % 97 === 0 ? "ü".repeat(3_000) : "x" },
      ...(n % 2 === 0 && { list: [n, null] }),
    }));
    const optionsOf = (n: number): PublishOptions => ({
      ...{ partition: 0, key: `key-${n % 10}` },
      ...(n % 500 === 7 && { id: `chosen-${n}`, headers: { correlationId: `c-${n}` } }),
    });
    const published: PublishedRecord[] = [];
    // Whoever is answered publishes the next one: an append of many is under way then.
    const publisher = async (_: unknown, first: number): Promise<void> => {
      for (let n = first; n < payloads.length; n += 1_500) {
        const record = await bus.publish(TOPIC, payloads[n], optionsOf(n));
        published[record.seq - 1] = record;
      }
    };
    await Promise.all(payloads.slice(0, 1_500).map(publisher));
    const stored = await readAll();
    expect(stored.map(({ record }) => record)).toEqual(published);
    const inOrder = stored.map(({ record }) => record.payload as { n: number }).sort((a, b) => a.n - b.n);
    expect(inOrder).toEqual(payloads);
    const again = await bus.publish(TOPIC, payloads[7], optionsOf(7));
    expect(again).toMatchObject({ id: "chosen-7", duplicate: true });
    await bus.close();
  });

  it("does not grow beyond what a document may hold, nor beyond 1,024 events", async () => {
    await store.log.append(TOPIC, 0, drafts(2_500, { freshId: true }));
    expect(await spans()).toEqual([
      [1, 1_024],
      [1_025, 2_048],
      [2_049, 2_500],
    ]);
    const text = "ü".repeat(1_000_000);
    const large = Array.from({ length: 10 }, () => draft({ payload: text, freshId: true }));
    const { events, error } = await store.log.append(TOPIC, 1, large);
    expect([seqs(events), error]).toEqual([range(1, 10), undefined]);
    const sizes = (await batches()).filter(({ partition }) => partition === 1);
    expect(sizes.length).toBeGreaterThan(1);
    expect((await storedLog(store, TOPIC, 1)).map(({ body }) => body.value === text)).not.toContain(false);
  });

  it("an event that no document can hold is refused as too large, and the log goes on", async () => {
    const huge = draft({ payload: "x".repeat(15_900_000), freshId: true });
    const tooLarge = draft({ payload: "x".repeat(16_750_000), freshId: true });
    expect((await store.log.append(TOPIC, 0, [draft(), huge])).error).toBeUndefined();
    const { events, error } = await store.log.append(TOPIC, 0, [draft(), tooLarge, draft()]);
    expect(BusError.is(error, "PAYLOAD_TOO_LARGE")).toBe(true);
    expect(seqs(events)).toEqual([3]);
    expect(seqs((await store.log.append(TOPIC, 0, drafts(1))).events)).toEqual([4]);
  });
});

describe("pages", () => {
  it("P2: that end inside a batch go on there, in whatever steps, also after the batch was changed", async () => {
    await store.log.append(TOPIC, 0, drafts(40, { freshId: true }));
    const other = await database.open();
    const first = await store.log.read(TOPIC, 0, { after: 0, limit: 10 });
    expect([seqs(first.events), first.through]).toEqual([range(1, 10), 10]);
    await other.log.remove(TOPIC, 0, [11, 13]);
    const second = await store.log.read(TOPIC, 0, { after: 10, limit: 3 });
    expect([seqs(second.events), second.through]).toEqual([[12, 14, 15], 15]);
    await other.log.trim(TOPIC, 0, 20);
    const third = await store.log.read(TOPIC, 0, { after: 15, limit: 3 });
    expect([seqs(third.events), third.through]).toEqual([[21, 22, 23], 23]);
    expect(seqs((await store.log.read(TOPIC, 0, { after: 23, limit: 100 })).events)).toEqual(range(24, 40));
  });

  it("P2: readers skip nothing while batches are cut, emptied and appended around them", async () => {
    const writer = await database.open();
    const remover = await database.open();
    const total = 1_500;
    let floor = 0;
    const write = async (): Promise<void> => {
      for (let n = 0; n < total; n += 60) await writer.log.append(TOPIC, 0, drafts(60, { freshId: true }));
    };
    const trim = async (): Promise<void> => {
      while (floor < total - 100) {
        const head = (await remover.log.heads(TOPIC))[0]?.head ?? 0;
        const to = Math.max(0, head - 47);
        await remover.log.trim(TOPIC, 0, to);
        floor = to;
      }
    };
    const follow = async (): Promise<void> => {
      for (let after = 0; after < total; ) {
        const page = await store.log.read(TOPIC, 0, { after, limit: 17 });
        const seen = seqs(page.events);
        // What is missing in a page was removed: by now the floor is at least that high.
        for (const seq of range(after + 1, page.through)) {
          if (!seen.includes(seq)) expect((await remover.log.heads(TOPIC))[0]?.low).toBeGreaterThan(seq);
        }
        after = page.through;
      }
    };
    await Promise.all([write(), trim(), follow(), follow()]);
    expect(seqs(await readAll())).toEqual(range(floor + 1, total));
  });
});

describe("ids", () => {
  it("P3: made ids are known again, by all, from their time alone", async () => {
    const some = drafts(600, { freshId: true });
    await store.log.append(TOPIC, 0, some);
    expect((await batches())[0]?.ids).toBeUndefined();
    const other = await database.open();
    for (const n of [0, 1, 299, 599]) {
      const { id } = some[n] as EventDraft;
      expect((await other.log.find(id))?.seq).toBe(n + 1);
    }
    const again = some.slice(10, 20).map((one): EventDraft => ({ ...one, freshId: false }));
    for (const partition of [0, 1]) {
      const { events, duplicates } = await other.log.append(TOPIC, partition, [...again, draft()]);
      expect(seqs(events).slice(0, 10)).toEqual(range(11, 20));
      expect(duplicates.size).toBe(10);
    }
  });

  it("P3: a made id whose batch came in unheard is found, and its retry adds nothing", async () => {
    const writer = await database.open({ url: database.urlWith(`appName=${database.name}`) });
    await writer.log.append(TOPIC, 0, drafts(1));
    const some = drafts(5, { freshId: true });
    // The insert takes place, but its answer says otherwise.
    const writeConcernError = { code: 91, errmsg: "the primary is shutting down" };
    await failPoint.set(1, { failCommands: ["insert"], appName: database.name, writeConcernError });
    const { events, duplicates } = await writer.log.append(TOPIC, 0, some);
    expect([seqs(events), duplicates.size]).toEqual([range(2, 6), 0]);
    expect(seqs(await readAll())).toEqual(range(1, 6));
  });

  it("P3: a made id that comes in while it is published again, elsewhere, is in the log once", async () => {
    const slow = await database.open({ url: database.urlWith(`appName=${database.name}`) });
    await slow.log.append(TOPIC, 0, drafts(1));
    const [made] = drafts(1, { freshId: true }) as [EventDraft];
    // Held back on its way: the retry looks for it, finds nothing, and meets it at its place.
    const data = {
      failCommands: ["insert"],
      appName: database.name,
      blockConnection: true,
      blockTimeMS: 300,
    };
    await failPoint.set(1, data);
    const first = slow.log.append(TOPIC, 0, [made]);
    const second = store.log.append(TOPIC, 0, [{ ...made, freshId: false }]);
    const results = await Promise.all([first, second]);
    expect(new Set(results.flatMap(({ events }) => seqs(events)))).toEqual(new Set([2]));
    expect(seqs(await readAll())).toEqual([1, 2]);
  });

  it("P3: an id is one event, in whichever layout it was published first", async () => {
    await store.registry.defineTopic({ name: "single", partitions: 1 });
    const chosen = draft({ id: "mine" });
    const [made] = drafts(1, { freshId: true }) as [EventDraft];
    const single = draft({ id: "single" });
    await store.log.append(TOPIC, 0, [chosen, made]);
    await store.log.append("single", 0, [single]);
    const again = { ...made, freshId: false };
    const intoSingle = await store.log.append("single", 0, [chosen, again, draft()]);
    expect([...intoSingle.duplicates]).toEqual([0, 1]);
    expect(intoSingle.events.map(({ topic, seq }) => [topic, seq])).toEqual([
      [TOPIC, 1],
      [TOPIC, 2],
      ["single", 2],
    ]);
    const intoBatches = await store.log.append(TOPIC, 1, [single, draft()]);
    expect([...intoBatches.duplicates]).toEqual([0]);
    expect(intoBatches.events.map(({ topic, seq }) => [topic, seq])).toEqual([
      ["single", 1],
      [TOPIC, 1],
    ]);
    expect((await store.log.find("single"))?.topic).toBe("single");
    expect((await store.log.find("mine"))?.topic).toBe(TOPIC);
  });
});

describe("a writer that came too late, and died", () => {
  /** What it leaves behind: a batch below the floor, that reaches beyond the head. */
  async function leave(): Promise<void> {
    await store.log.append(TOPIC, 0, [draft(), draft(), draft()]);
    await store.log.append(TOPIC, 0, drafts(3));
    await passTime(database.client, database.name, 60);
    await store.log.trim(TOPIC, 0, 5);
    const [some] = await batches();
    const spare = await database.open();
    await spare.registry.defineTopic({ name: "spare", partitions: 1, layout: "batches" });
    await spare.log.append("spare", 0, [draft({ id: "late", key: "k" }), ...drafts(9)]);
    const [late] = await database.db.collection("batches").find({ topic: "spare" }).toArray();
    await database.db.collection("batches").deleteOne({ topic: "spare" });
    const place = { _id: new ObjectId(), topic: TOPIC, partition: 0, first: 4, last: 13, base: 4 };
    await database.db.collection("batches").insertOne({ ...late, ...place, at: new Timestamp(0n) });
    expect(some?.floor).toBe(5);
  }

  it("P2, P3: what it left behind never counted, for nobody", async () => {
    await leave();
    expect(seqs(await readAll())).toEqual([6]);
    expect(await store.log.heads(TOPIC)).toMatchObject([{ head: 6, low: 6, events: 1 }, { head: 0 }]);
    expect(await store.log.find("late")).toBeNull();
    expect(await store.log.history(TOPIC, "k", { limit: 9 })).toEqual([]);
    expect((await store.log.latestByKey(TOPIC, ["k"])).size).toBe(0);
    expect(await store.log.seqAt(TOPIC, 0, 0)).toBe(6);
    expect(await store.log.remove(TOPIC, 0, [4, 5])).toBe(0);
    for (const after of [3, 5, 6]) {
      const page = await store.log.read(TOPIC, 0, { after, limit: 5 });
      expect([seqs(page.events), page.through]).toEqual([after < 6 ? [6] : [], 6]);
    }
    const other = await database.open();
    const again = await other.log.append(TOPIC, 0, [draft({ id: "late" })]);
    expect([seqs(again.events), again.duplicates.size]).toEqual([[7], 0]);
    await store.log.trim(TOPIC, 0, 7);
    expect(await readAll()).toEqual([]);
    expect(seqs((await other.log.append(TOPIC, 0, drafts(1))).events)).toEqual([8]);
  });

  it("P2: not even if nothing else is left", async () => {
    await leave();
    await store.log.trim(TOPIC, 0, 6);
    const other = await database.open();
    expect(await other.log.read(TOPIC, 0, { after: 6, limit: 5 })).toEqual({ events: [], through: 6 });
    expect(seqs((await other.log.append(TOPIC, 0, drafts(2))).events)).toEqual([7, 8]);
    expect(seqs(await readAll())).toEqual([7, 8]);
  });
});

describe("places of trimmed batches", () => {
  it("P2: stay taken for a while, with nothing of what was said, and are freed by a later trim", async () => {
    const said = { key: "secret", meta: { headers: { correlationId: "secret" } }, payload: "secret" };
    for (let n = 0; n < 3; n++) await store.log.append(TOPIC, 0, [draft({ ...said }), draft(said)]);
    expect(await store.log.trim(TOPIC, 0, 5)).toBe(5);
    expect(await spans()).toEqual([
      [1, 2],
      [3, 4],
      [5, 5],
      [6, 6],
    ]);
    expect(JSON.stringify((await batches()).slice(0, 3))).not.toContain("secret");
    await passTime(database.client, database.name, 60);
    expect(await store.log.trim(TOPIC, 0, 5)).toBe(0);
    expect(await spans()).toEqual([
      [1, 2],
      [6, 6],
    ]);
    expect(seqs(await readAll())).toEqual([6]);
  });

  it("what is left of a batch that a trim cut in two counts with its bytes", async () => {
    await store.log.append(TOPIC, 0, drafts(8));
    const [before] = await store.log.heads(TOPIC);
    await store.log.trim(TOPIC, 0, 4);
    const [after] = await store.log.heads(TOPIC);
    expect(after).toMatchObject({ low: 5, head: 8, events: 4 });
    expect((after?.bytes ?? 0) / (before?.bytes ?? 1)).toBeGreaterThan(0.4);
  });

  it("P3: chosen ids of removed events can be published again at once", async () => {
    await store.log.append(
      TOPIC,
      0,
      ["a", "b", "c", "d"].map((id) => draft({ id })),
    );
    await store.log.trim(TOPIC, 0, 2);
    await store.log.remove(TOPIC, 0, [3]);
    const ids = ["a", "b", "c", "d"].map((id) => draft({ id }));
    const { events, duplicates } = await store.log.append(TOPIC, 0, ids);
    expect([seqs(events), [...duplicates]]).toEqual([[5, 6, 7, 4], [3]]);
  });
});

describe("the layout of a topic", () => {
  it("cannot change: TOPIC_CONFLICT; whoever says nothing of it does not mind", async () => {
    const { registry } = store;
    const conflict = { code: "TOPIC_CONFLICT", details: { topic: TOPIC, layout: "batches" } };
    await expect(
      registry.defineTopic({ name: TOPIC, partitions: 2, layout: "documents" }),
    ).rejects.toMatchObject(conflict);
    const config = await registry.defineTopic({ name: TOPIC, partitions: 2, retentionMs: 5 });
    expect(config).toEqual({ name: TOPIC, partitions: 2, retentionMs: 5, layout: "batches" });
    expect(await registry.topic(TOPIC)).toEqual(config);
    // As it comes from a program that the compiler did not look at.
    const unsaid = { name: TOPIC, partitions: 2, retentionMs: 5, layout: undefined };
    expect(await registry.defineTopic(unsaid as never)).toEqual(config);
    expect(await registry.topic(TOPIC)).toEqual(config);
    await registry.defineTopic({ name: "single", partitions: 1 });
    await expect(
      registry.defineTopic({ name: "single", partitions: 1, layout: "batches" }),
    ).rejects.toMatchObject({ code: "TOPIC_CONFLICT" });
  });

  it("cannot be batches on a standalone server: UNSUPPORTED", async () => {
    const single = await StandaloneServer.start();
    const alone = mongoStore({ url: single.url, db: database.name, onWarning: () => undefined });
    try {
      await alone.open();
      await expect(
        alone.registry.defineTopic({ name: TOPIC, partitions: 1, layout: "batches" }),
      ).rejects.toMatchObject({ code: "UNSUPPORTED" });
    } finally {
      await alone.close();
      await single.dispose();
    }
  });
});
