/** Appends to many partitions at once, which the store sends together: each ends as it would have alone. */
import type { Document } from "mongodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EventDraft } from "../../../src/model/event.js";
import type { AppendResult } from "../../../src/ports/log.js";
import type { Store } from "../../../src/ports/store.js";
import { draft, drafts, seqs } from "../../../src/testing/conformance/samples.js";
import { storedLog } from "../../support/kept-history.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";
import { appendBeside } from "../../support/mongo/held-place.js";
import { NotedClient } from "../../support/mongo/noted-client.js";

const TOPIC = "orders";
const PARTITIONS = 20;
const ALL = Array.from({ length: PARTITIONS }, (_, partition) => partition);

let database: TestDatabase;
let noted: NotedClient;
let store: Store;
const failPoint = new FailPoint(() => database.client);

beforeEach(async () => {
  database = await TestDatabase.create();
  noted = new NotedClient(database.url);
  store = await database.open({ client: noted.client });
});
afterEach(async () => {
  await failPoint.release();
  await store.close();
  await noted.close();
  await database.dispose();
});

function isAboutIds(filter: { readonly _id?: object; readonly ids?: object }): boolean {
  return filter.ids !== undefined || (typeof filter._id === "object" && "$in" in filter._id);
}

/** One append to each partition, all at once. */
function appendToAll(
  to: Store,
  draftsOf: (partition: number) => readonly EventDraft[],
): Promise<AppendResult[]> {
  return Promise.all(ALL.map((partition) => to.log.append(TOPIC, partition, draftsOf(partition))));
}

async function logs(): Promise<string[][]> {
  return await Promise.all(
    ALL.map(async (partition) => {
      const log = await storedLog(store, TOPIC, partition);
      expect(seqs(log)).toEqual(log.map((_, i) => i + 1));
      return log.map(({ id }) => id);
    }),
  );
}

const ids = (events: Iterable<{ readonly id: string }>): string[] => [...events].map(({ id }) => id);

describe.each(["documents", "batches"] as const)("many partitions of a topic kept as %s", (layout) => {
  beforeEach(() => store.registry.defineTopic({ name: TOPIC, partitions: PARTITIONS, layout }));
  const collection = layout === "batches" ? "batches" : "events";

  /** The next insert of this test's, and of no other file's. */
  const failInsert = (fault: Document): Promise<void> =>
    failPoint.set(1, { failCommands: ["insert"], namespace: `${database.name}.${collection}`, ...fault });

  it("P2: are appended to by few commands, each in its own order", async () => {
    const first = ALL.map((n) => drafts(n % 3 === 0 ? 1 : 5, { freshId: true }));
    const second = ALL.map(() => drafts(2, { freshId: true }));
    await appendToAll(store, (n) => first[n] as EventDraft[]);
    await appendToAll(store, (n) => second[n] as EventDraft[]);
    noted.forget();
    const then = ALL.map((n) => drafts(1 + n, { freshId: true }));
    const answers = await appendToAll(store, (n) => then[n] as EventDraft[]);
    expect(noted.names).toEqual(["insert"]);
    for (const [n, { events, error, duplicates }] of answers.entries()) {
      expect([error, duplicates.size]).toEqual([undefined, 0]);
      expect(ids(events)).toEqual(ids(then[n] as EventDraft[]));
    }
    expect(await logs()).toEqual(
      ALL.map((n) => ids([...(first[n] ?? []), ...(second[n] ?? []), ...(then[n] ?? [])])),
    );
  });

  it("P3: ids that callers chose are looked for by few commands, and found wherever they are", async () => {
    for (let n = 0; n < 2; n++) await appendToAll(store, () => drafts(1, { freshId: true }));
    const chosen = ALL.map((n) => drafts(2).map((one, i) => ({ ...one, id: `order-${n}-${i}` })));
    await store.log.append(TOPIC, 3, chosen[3]?.slice(0, 1) ?? []);
    noted.forget();
    const answers = await appendToAll(store, (n) => chosen[n] as EventDraft[]);
    // In the collections of both layouts; who has to find the end of its partition first comes later.
    expect(noted.named("find").filter(({ filter }) => isAboutIds(filter)).length).toBeLessThan(PARTITIONS);
    expect(answers.map(({ duplicates }) => [...duplicates])).toEqual(ALL.map((n) => (n === 3 ? [0] : [])));
    const again = await appendToAll(store, (n) => chosen[n] as EventDraft[]);
    expect(again.map(({ duplicates }) => [...duplicates])).toEqual(ALL.map(() => [0, 1]));
    expect((await logs()).map(({ length }) => length)).toEqual(ALL.map(() => 4));
  });

  it("P2: of which another process has taken places in several meanwhile", async () => {
    const other = await database.open();
    await appendToAll(store, () => drafts(1, { freshId: true }));
    for (let round = 0; round < 3; round++) {
      for (const n of [3, 4, 11, 19]) await other.log.append(TOPIC, n, drafts(2, { freshId: true }));
      const answers = await appendToAll(store, () => drafts(3, { freshId: true }));
      expect(answers.flatMap(({ error }) => error ?? [])).toEqual([]);
      expect(answers.map(({ events }) => events.length)).toEqual(ALL.map(() => 3));
    }
    const lengths = (await logs()).map(({ length }) => length);
    expect(lengths).toEqual(ALL.map((n) => ([3, 4, 11, 19].includes(n) ? 16 : 10)));
  });

  it("P2, P3: with two processes on all of them at once, and ids that both bring", async () => {
    const other = await database.open();
    const shared = ALL.map(() => drafts(4));
    const answers = await Promise.all([
      appendToAll(store, (n) => [...drafts(2, { freshId: true }), ...(shared[n] ?? [])]),
      appendToAll(other, (n) => [...(shared[n] ?? []), ...drafts(2, { freshId: true })]),
    ]);
    for (const { error, events } of answers.flat()) expect([error, events.length]).toEqual([undefined, 6]);
    const found = await logs();
    expect(found.map(({ length }) => length)).toEqual(ALL.map(() => 8));
    for (const [n, some] of shared.entries()) expect(found[n]).toEqual(expect.arrayContaining(ids(some)));
  });

  it("P3: an id that is in the log keeps only its own append from going in whole", async () => {
    const [known] = (await store.log.append(TOPIC, 7, [draft({ id: "known" })])).events;
    const answers = await appendToAll(store, (n) => [
      ...drafts(2),
      ...(n === 7 ? [draft({ id: "known" })] : []),
      ...drafts(1),
    ]);
    for (const [n, { error, events, duplicates }] of answers.entries()) {
      expect(error).toBeUndefined();
      expect(events).toHaveLength(n === 7 ? 4 : 3);
      expect([...duplicates]).toEqual(n === 7 ? [2] : []);
    }
    expect(answers[7]?.events[2]?.seq).toBe(known?.seq);
    await logs();
  });

  it("P1, P3: all of them are found if the command took place though it was reported lost", async () => {
    const writeConcernError = { code: 91, errmsg: "the primary is shutting down" };
    await failInsert({ writeConcernError });
    const some = ALL.map(() => drafts(2, { freshId: true }));
    const answers = await appendToAll(store, (n) => some[n] as EventDraft[]);
    for (const { error, duplicates } of answers) expect([error, duplicates.size]).toEqual([undefined, 0]);
    expect(await logs()).toEqual(some.map(ids));
  });

  it("P1: a command that the server refuses is tried again for each of them", async () => {
    await appendToAll(store, () => drafts(1, { freshId: true }));
    await failInsert({ errorCode: 14031 });
    const answers = await appendToAll(store, () => drafts(1, { freshId: true }));
    expect(answers.flatMap(({ error }) => error ?? [])).toEqual([]);
    expect((await logs()).map(({ length }) => length)).toEqual(ALL.map(() => 2));
  });

  it("P1: what may arrive late is unknown, though the try after it was refused", async () => {
    await appendToAll(store, () => drafts(1, { freshId: true }));
    await database.db.command({ collMod: collection, validator: { partition: { $ne: 5 } } });
    await failInsert({ closeConnection: true });
    const answers = await appendToAll(store, () => drafts(1, { freshId: true }));
    expect(answers.map(({ error }) => error?.code)).toEqual(
      ALL.map((n) => (n === 5 ? "OUTCOME_UNKNOWN" : undefined)),
    );
    const again = await store.log.append(TOPIC, 5, drafts(1));
    expect(again.error?.code).toBe("INTERNAL");
    expect((await logs()).map(({ length }) => length)).toEqual(ALL.map((n) => (n === 5 ? 1 : 2)));
  });

  it("P15: go on although a transaction of a process that stopped is in the way of one of them", async () => {
    await appendToAll(store, () => drafts(1, { freshId: true }));
    const place = layout === "batches" ? { first: 2, last: 2 } : { seq: 2 };
    const { answers, meanwhile } = await appendBeside(database, {
      collection,
      document: { topic: TOPIC, partition: 5, ...place },
      partitions: ALL,
      deadlineMs: 40_000,
      append: (n) => store.log.append(TOPIC, n, drafts(2, { freshId: true })),
    });
    expect(meanwhile.has(5)).toBe(false);
    expect(answers.flatMap(({ error }) => error ?? [])).toEqual([]);
    expect((await logs()).map(({ length }) => length)).toEqual(ALL.map(() => 3));
  });

  it("P13: takes many long keys at once, of events that say little", async () => {
    const key = "語".repeat(341);
    const answers = await appendToAll(store, () => drafts(2_000, { freshId: true, key, payload: 1 }));
    expect(answers.flatMap(({ error }) => error ?? [])).toEqual([]);
    expect((await logs()).map(({ length }) => length)).toEqual(ALL.map(() => 2_000));
  });

  it("takes more at once than fits into one command", async () => {
    const payload = "語".repeat(400_000);
    const answers = await appendToAll(store, () => [draft({ payload, freshId: true })]);
    expect(answers.flatMap(({ error }) => error ?? [])).toEqual([]);
    expect((await logs()).map(({ length }) => length)).toEqual(ALL.map(() => 1));
  });
});
