/** Appends that meet others, removals and broken connections: what only a shared database can do to a log. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { StoredEvent } from "../../../src/model/event.js";
import type { TopicLayout } from "../../../src/model/topic.js";
import type { AppendResult } from "../../../src/ports/log.js";
import type { Store } from "../../../src/ports/store.js";
import { draft, drafts, seqs } from "../../../src/testing/conformance/samples.js";
import { storedLog } from "../../support/kept-history.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";
import { passTime } from "../../support/mongo/logical-time.js";
import { NotedClient } from "../../support/mongo/noted-client.js";
import { ReplicaSet } from "../../support/mongo/replica-set.js";

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
});
afterEach(async () => {
  await failPoint.release();
  await database.dispose();
});

function defineTopic(layout: TopicLayout): Promise<unknown> {
  return store.registry.defineTopic({ name: TOPIC, partitions: 1, layout });
}

function readAll(from: Store): Promise<StoredEvent[]> {
  return storedLog(from, TOPIC, 0);
}

function ids(events: Iterable<{ readonly id: string }>): string[] {
  return [...events].map((event) => event.id);
}

/** Three handles append batches of these sizes at once; what each of them sent, in its order. */
async function appendAtOnce(sizes: readonly number[]): Promise<string[][]> {
  const writers = [store, await database.open(), await database.open()];
  return await Promise.all(
    writers.map(async (writer) => {
      const own: string[] = [];
      for (const size of sizes) {
        const some = drafts(size, { freshId: true });
        const { events, error } = await writer.log.append(TOPIC, 0, some);
        expect(error).toBeUndefined();
        expect(ids(events)).toEqual(ids(some));
        own.push(...ids(some));
      }
      return own;
    }),
  );
}

const COLLECTIONS = { documents: "events", batches: "batches" } as const;

describe.each(["documents", "batches"] as const)("a topic kept as %s", (layout) => {
  beforeEach(() => defineTopic(layout));

  describe("writers that meet", () => {
    it("P2: three processes fill one partition densely, each in its own order", async () => {
      const sent = await appendAtOnce([1, 8, 15, 22, 29, 36, 43, 50]);
      const log = await readAll(store);
      expect(seqs(log)).toEqual(Array.from({ length: sent.flat().length }, (_, i) => i + 1));
      for (const own of sent) {
        const mine = new Set(own);
        expect(ids(log).filter((id) => mine.has(id))).toEqual(own);
      }
    });

    it("P2: so they do with large batches, which take the server several steps", async () => {
      const sent = await appendAtOnce([300, 200, 600, 300, 200]);
      const log = await readAll(store);
      expect(seqs(log)).toEqual(Array.from({ length: sent.flat().length }, (_, i) => i + 1));
      for (const own of sent) {
        const mine = new Set(own);
        expect(ids(log).filter((id) => mine.has(id))).toEqual(own);
      }
    });

    it("P3: the same ids from two processes at once are in the log once, and both hear the same places", async () => {
      const other = await database.open();
      const some = drafts(40);
      const backwards = some.toReversed();
      const [first, second] = await Promise.all([
        store.log.append(TOPIC, 0, some),
        other.log.append(TOPIC, 0, backwards),
      ]);
      const places = (result: AppendResult): Map<string, number> =>
        new Map(result.events.map((event) => [event.id, event.seq]));
      expect(first.error ?? second.error).toBeUndefined();
      expect(places(second)).toEqual(places(first));
      expect(first.duplicates.size + second.duplicates.size).toBe(40);
      expect(seqs(await readAll(store))).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
    });
  });

  it("takes many events with as much beside their payloads as a bus lets pass, also where that is no command any more", async () => {
    const meta = { headers: { note: "語".repeat(16_000) }, caused_by: ["a"] };
    const { events, error } = await store.log.append(TOPIC, 0, drafts(360, { freshId: true, meta }));
    expect([events.length, error]).toEqual([360, undefined]);
  });

  /** Soon after it appended, a writer trusts the end that it remembers, and what was removed keeps its place; later, neither. */
  describe.each([
    ["for a moment", 0],
    ["for long", 60],
  ])("a writer that slept %s while events were removed", (_, seconds) => {
    const sleep = () => passTime(database.client, database.name, seconds);

    it("P2: does not reuse a seq of a trimmed range", async () => {
      const sleeper = await database.open();
      await sleeper.log.append(TOPIC, 0, drafts(3));
      await store.log.append(TOPIC, 0, drafts(7));
      await sleep();
      expect(await store.log.trim(TOPIC, 0, 6)).toBe(6);
      const late = drafts(2);
      const { events, duplicates } = await sleeper.log.append(TOPIC, 0, late);
      expect(seqs(events)).toEqual([11, 12]);
      expect(duplicates.size).toBe(0);
      expect(seqs(await readAll(store))).toEqual([7, 8, 9, 10, 11, 12]);
      expect(await store.log.heads(TOPIC)).toMatchObject([{ head: 12, low: 7, events: 6 }]);
    });

    it("P2: not even if nothing is left, and its batch reaches beyond the old head", async () => {
      const sleeper = await database.open();
      await sleeper.log.append(TOPIC, 0, drafts(3));
      await store.log.append(TOPIC, 0, drafts(4));
      await sleep();
      expect(await store.log.trim(TOPIC, 0, 7)).toBe(7);
      const late = drafts(10);
      const { events } = await sleeper.log.append(TOPIC, 0, late);
      const log = await readAll(store);
      expect(ids(log)).toEqual(ids(late));
      expect(seqs(events)).toEqual(seqs(log));
      expect(Math.min(...seqs(log))).toBeGreaterThan(7);
      const next = await store.log.append(TOPIC, 0, drafts(1));
      expect(seqs(next.events)).toEqual([Math.max(...seqs(log)) + 1]);
    });

    it("P11: does not reuse a seq that compaction took out of the middle", async () => {
      const sleeper = await database.open();
      await sleeper.log.append(TOPIC, 0, drafts(3));
      await store.log.append(TOPIC, 0, drafts(5));
      await sleep();
      expect(await store.log.remove(TOPIC, 0, [4, 5, 7])).toBe(3);
      const { events } = await sleeper.log.append(TOPIC, 0, drafts(2));
      expect(seqs(events)).toEqual([9, 10]);
      expect(seqs(await readAll(store))).toEqual([1, 2, 3, 6, 8, 9, 10]);
      expect(await store.log.heads(TOPIC)).toMatchObject([{ head: 10, low: 1, events: 7 }]);
    });
  });

  describe("a writer that appends again and again", () => {
    it("sends one command each time", async () => {
      const noted = new NotedClient(database.url);
      try {
        const writer = await database.open({ client: noted.client });
        await writer.log.append(TOPIC, 0, drafts(1, { freshId: true }));
        await writer.log.append(TOPIC, 0, drafts(1, { freshId: true }));
        noted.forget();
        for (let n = 0; n < 3; n++) await writer.log.append(TOPIC, 0, drafts(2, { freshId: true }));
        expect(noted.names).toEqual(["insert", "insert", "insert"]);
        expect(seqs(await readAll(store))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
        await writer.close();
      } finally {
        await noted.close();
      }
    });
  });

  describe("a draft that waited for its turn", () => {
    it("was prepared meanwhile, and is kept as any other", async () => {
      const waiting = draft({ id: "waited", payload: { price: 12.5, name: "Zoë", list: [1, null] } });
      store.log.prepare?.(waiting, TOPIC);
      // Its text is at hand: nothing but bytes are left to write.
      expect(waiting.body.valueAlone).toBeUndefined();
      await store.log.append(TOPIC, 0, [draft(), waiting]);
      const [, kept] = await readAll(await database.open());
      expect(kept?.record).toMatchObject({ id: "waited", seq: 2, payload: waiting.body.value });
    });
  });

  describe("a writer whose events are removed before it hears of them", () => {
    it("P2: keeps its seqs: what was removed since is no reason to append it again", async () => {
      const writer = await database.open({ url: database.urlWith(`appName=${database.name}`) });
      await writer.log.append(TOPIC, 0, drafts(2));
      await passTime(database.client, database.name, 60);
      // The look that follows an insert takes long enough for everything to be trimmed in between.
      const data = {
        failCommands: ["find"],
        appName: database.name,
        blockConnection: true,
        blockTimeMS: 5_000,
      };
      await failPoint.set(1, data);
      const appending = writer.log.append(TOPIC, 0, drafts(2, { freshId: true }));
      await vi.waitFor(async () => expect(await store.log.heads(TOPIC)).toMatchObject([{ head: 4 }]), 4_500);
      expect(await store.log.trim(TOPIC, 0, 4)).toBe(4);
      expect(seqs((await appending).events)).toEqual([3, 4]);
      expect(await readAll(store)).toEqual([]);
      expect(seqs((await writer.log.append(TOPIC, 0, drafts(1))).events)).toEqual([5]);
    });
  });

  describe("ids of removed events", () => {
    it("P3: the id of the first event of a removed range can be published again", async () => {
      const first = drafts(5);
      await store.log.append(TOPIC, 0, first);
      await store.log.trim(TOPIC, 0, 2);
      await store.log.remove(TOPIC, 0, [4]);
      const again = await store.log.append(
        TOPIC,
        0,
        [0, 1, 3].map((i) => draft({ id: first[i]?.id ?? "" })),
      );
      expect(again.error).toBeUndefined();
      expect(seqs(again.events)).toEqual([6, 7, 8]);
      expect(seqs(await readAll(store))).toEqual([3, 5, 6, 7, 8]);
      expect(await store.log.heads(TOPIC)).toMatchObject([{ head: 8, low: 3, events: 5 }]);
    });
  });

  describe("connections that break", () => {
    function failNextInserts(times: number, data: object): Promise<void> {
      return failPoint.set(times, {
        failCommands: ["insert"],
        namespace: `${database.name}.${COLLECTIONS[layout]}`,
        ...data,
      });
    }

    it.each([
      ["a connection lost before the insert", { closeConnection: true }],
      ["an insert whose session is killed", { errorCode: 11601 }],
    ])("P1: %s is survived by a retry", async (_, fault) => {
      await failNextInserts(1, fault);
      const { events, error, duplicates } = await store.log.append(TOPIC, 0, drafts(3));
      expect(error).toBeUndefined();
      expect(duplicates.size).toBe(0);
      expect(seqs(events)).toEqual([1, 2, 3]);
    });

    it("P3: an insert that took place though it was reported lost is found by its ids, and not doubled", async () => {
      // Both of the driver's tries fail with a write concern error after the write was done.
      const writeConcernError = { code: 91, errmsg: "the primary is shutting down" };
      await failNextInserts(2, { writeConcernError });
      const some = drafts(3, { freshId: true });
      const { events, error, duplicates } = await store.log.append(TOPIC, 0, some);
      expect(error).toBeUndefined();
      expect(duplicates.size).toBe(0);
      expect(seqs(events)).toEqual([1, 2, 3]);
      expect(ids(await readAll(store))).toEqual(ids(some));
    });

    it("P1: an insert that failed twice on the way goes on until it is in", async () => {
      await failNextInserts(4, { closeConnection: true });
      const some = drafts(2, { freshId: true });
      const { events, error } = await store.log.append(TOPIC, 0, some);
      expect(error).toBeUndefined();
      expect(seqs(events)).toEqual([1, 2]);
      expect(ids(await readAll(store))).toEqual(ids(some));
    });

    it("an error of the server that no retry helps is told at once, and what was before it stays", async () => {
      await store.log.append(TOPIC, 0, drafts(1));
      await failNextInserts(1, { errorCode: 14031 });
      const { events, error } = await store.log.append(TOPIC, 0, drafts(2));
      expect(events).toEqual([]);
      expect(error).toMatchObject({ code: "STORE_FULL", retryable: true });
      expect(seqs(await readAll(store))).toEqual([1]);
    });
  });
});

describe("a topic kept as single documents", () => {
  beforeEach(() => defineTopic("documents"));

  it("everybody gets their turn, also beside one who goes on and on with large batches", async () => {
    const busy = await database.open();
    let others = 3;
    const goOn = async (): Promise<void> => {
      while (others > 0) {
        expect((await busy.log.append(TOPIC, 0, drafts(400, { freshId: true }))).error).toBeUndefined();
      }
    };
    const takeTurn = async (size: number): Promise<void> => {
      const { events, error } = await store.log.append(TOPIC, 0, drafts(size, { freshId: true }));
      expect([events.length, error]).toEqual([size, undefined]);
      others--;
    };
    await Promise.all([goOn(), takeTurn(1), takeTurn(50), takeTurn(400)]);
  });

  describe("a writer that came too late, and died", () => {
    it("P3: what it left behind counts as removed, and its id can be published again", async () => {
      await store.log.append(TOPIC, 0, drafts(6));
      await passTime(database.client, database.name, 60);
      await store.log.trim(TOPIC, 0, 4);
      const left = { topic: TOPIC, partition: 0, seq: 3, ts: 1, maxTs: 1, sumBytes: 1, payload: "1" };
      await database.db.collection<{ _id: string }>("events").insertOne({ _id: "late", ...left });
      expect(await store.log.find("late")).toBeNull();
      expect(seqs(await readAll(store))).toEqual([5, 6]);
      expect((await store.log.read(TOPIC, 0, { after: 2, limit: 10 })).events.map((e) => e.seq)).toEqual([
        5, 6,
      ]);
      const again = await store.log.append(TOPIC, 0, [draft({ id: "late" })]);
      expect(seqs(again.events)).toEqual([7]);
      expect(again.duplicates.size).toBe(0);
    });

    it("P2: a trim that ends where it left something takes the whole range in", async () => {
      await store.log.append(TOPIC, 0, drafts(9));
      await passTime(database.client, database.name, 60);
      await store.log.remove(TOPIC, 0, [4, 5, 6, 7]);
      const left = { topic: TOPIC, partition: 0, seq: 6, ts: 1, maxTs: 1, sumBytes: 1, payload: "1" };
      await database.db.collection<{ _id: string }>("events").insertOne({ _id: "late", ...left });
      expect(await store.log.trim(TOPIC, 0, 6)).toBe(3);
      expect(seqs(await readAll(store))).toEqual([8, 9]);
      expect(await store.log.heads(TOPIC)).toMatchObject([{ head: 9, low: 8, events: 2 }]);
    });
  });

  describe("places of removed events", () => {
    function places() {
      return database.db.collection("events").find({ topic: TOPIC }).sort({ seq: 1 }).toArray();
    }

    it("P2: stay taken for a while, with nothing of what the events said, and are freed by a later trim", async () => {
      const said = { key: "k", meta: { headers: { secret: "s" }, tags: ["t"] }, payload: "secret" };
      await store.log.append(TOPIC, 0, [draft(said), draft(said), draft(said), draft(said)]);
      expect(await store.log.trim(TOPIC, 0, 3)).toBe(3);
      const kept = await places();
      expect(kept.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
      expect(JSON.stringify(kept.slice(0, 3))).not.toContain("secret");
      expect(kept.slice(1, 3).every((place) => !("key" in place || "ts" in place || "tags" in place))).toBe(
        true,
      );
      expect((await store.log.read(TOPIC, 0, { after: 1, limit: 10 })).events.map(({ seq }) => seq)).toEqual([
        4,
      ]);
      await passTime(database.client, database.name, 60);
      expect(await store.log.trim(TOPIC, 0, 3)).toBe(0);
      expect((await places()).map(({ seq }) => seq)).toEqual([1, 4]);
    });

    it("P2: a reader in the middle of them goes past them", async () => {
      await store.log.append(TOPIC, 0, drafts(5));
      await store.log.remove(TOPIC, 0, [2, 3, 4, 5]);
      expect(await store.log.read(TOPIC, 0, { after: 3, limit: 10 })).toEqual({ events: [], through: 5 });
      expect(await store.log.seqAt(TOPIC, 0, 0)).toBe(1);
      expect(await store.log.trim(TOPIC, 0, 4)).toBe(1);
      expect(await store.log.heads(TOPIC)).toMatchObject([{ head: 5, low: 6, events: 0 }]);
      expect(seqs((await store.log.append(TOPIC, 0, drafts(1))).events)).toEqual([6]);
    });

    it("P3: their ids can be published again at once", async () => {
      const first = drafts(3);
      await store.log.append(TOPIC, 0, first);
      await store.log.trim(TOPIC, 0, 3);
      const again = await store.log.append(
        TOPIC,
        0,
        ids(first).map((id) => draft({ id })),
      );
      expect(again.error).toBeUndefined();
      expect([seqs(again.events), again.duplicates.size]).toEqual([[4, 5, 6], 0]);
      expect((await places()).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    });
  });
});
