/** Cursors on MongoDB: what must not keep them from being written, and what must not undo them. */
import type { Document, Timestamp } from "mongodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createBus } from "../../../src/bus/create-bus.js";
import type { GroupPartition } from "../../../src/ports/groups.js";
import type { Store } from "../../../src/ports/store.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { claimed, leaseOf } from "../../../src/testing/conformance/group-leases.js";
import { cursorAt, openMember } from "../../../src/testing/conformance/samples.js";
import { eventually } from "../../support/eventually.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";
import { NotedClient } from "../../support/mongo/noted-client.js";

let database: TestDatabase;
const failPoint = new FailPoint(() => database.client);

beforeEach(async () => {
  database = await TestDatabase.create();
});
afterEach(async () => {
  await failPoint.release();
  await database.dispose();
});

const ref: GroupPartition = { topic: "t", group: "g", partition: 0 };

describe("a cursor write that was given up", () => {
  const NEWEST = {
    mark: 2_000,
    settled: [[7, 1_500]],
    attempts: [{ seq: 6, delivered: 2, failures: 1 }],
  } as const;
  let noted: NotedClient;
  let store: Store;

  beforeEach(async () => {
    noted = new NotedClient(database.url, { appName: database.name });
    store = await database.open({ client: noted.client });
    await store.groups.start(ref, [5]);
  });
  afterEach(async () => {
    await store.close();
    await noted.close();
  });

  /** A write that never reaches the server, and is told as lost; returns what would have reached it. */
  async function giveUp(epoch: number): Promise<Document> {
    noted.forget();
    await failPoint.set(2, { failCommands: ["update"], closeConnection: true, appName: database.name });
    const older = cursorAt(5, { mark: 1_000, settled: [[7, 700]] });
    await expect(store.groups.commit(ref, epoch, older)).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    const { update, updates, ordered, writeConcern } = noted.named("update")[0] as Document;
    return { update, updates, ordered, writeConcern };
  }

  it("P5, P8: and arrives behind a newer one with the same floor changes nothing", async () => {
    const { epoch } = await claimed(store, ref, await openMember(store));
    const late = await giveUp(epoch);
    const newest = cursorAt(5, NEWEST);
    await store.groups.commit(ref, epoch, newest);
    await database.db.command(late);
    expect((await leaseOf(store, ref))?.cursor).toEqual(newest);
    await store.groups.commit(ref, epoch, cursorAt(5, { mark: 3_000 }));
    expect((await leaseOf(store, ref))?.cursor).toEqual(cursorAt(5, { mark: 3_000 }));
  });

  it("P5, P9: nor behind the newer one of a transaction", async () => {
    const { epoch } = await claimed(store, ref, await openMember(store));
    const late = await giveUp(epoch);
    const newest = cursorAt(5, NEWEST);
    await store.documents.transact({ writes: [], cursor: { ref, epoch, cursor: newest, expectedFloor: 5 } });
    await database.db.command(late);
    expect((await leaseOf(store, ref))?.cursor).toEqual(newest);
  });

  it("P7: and the next owner's first one counts, whatever the one before it had written", async () => {
    const before = await claimed(store, ref, await openMember(store));
    await store.groups.commit(ref, before.epoch, cursorAt(5, NEWEST));
    await database.db.collection("cursors").updateOne({}, { $set: { written: Number.MAX_SAFE_INTEGER } });
    await store.groups.release(ref, before.epoch, cursorAt(5, NEWEST));
    const { epoch } = await claimed(store, ref, await openMember(store));
    await store.groups.commit(ref, epoch, cursorAt(9));
    expect((await leaseOf(store, ref))?.cursor).toEqual(cursorAt(9));
  });
});

describe("a cursor write that changes nothing", () => {
  it("P7: whether its owner holds the partition still is asked as of that write, whichever node answers", async () => {
    const noted = new NotedClient(database.url);
    const store = await database.open({ client: noted.client });
    await store.groups.start(ref, [5]);
    const { epoch } = await claimed(store, ref, await openMember(store));
    await store.groups.move(ref, cursorAt(5));
    noted.forget();
    await expect(store.groups.commit(ref, epoch, cursorAt(9))).rejects.toMatchObject({ code: "LEASE_LOST" });
    expect(noted.names).toEqual(["update", "find"]);
    const written: Timestamp = noted.replies[0]?.["operationTime"];
    const asked = noted.commands[1]?.["readConcern"] as { level: string; afterClusterTime?: Timestamp };
    expect(asked.level).toBe("majority");
    expect(asked.afterClusterTime?.greaterThanOrEqual(written)).toBe(true);
    await store.close();
    await noted.close();
  });
});

describe("events that are given back", () => {
  it("P13, P15: with long reasons do not make the cursor larger than a document may be", async () => {
    const bus = await createBus({
      store: mongoStore({ url: database.url, db: database.name }),
      topics: [{ name: "orders", partitions: 1 }],
    });
    try {
      const reason = "x".repeat(1_048_576);
      let nacked = 0;
      await bus.subscribe(
        "orders",
        "g",
        async (event, { nack, ack }) => {
          if (event.payload === "last") await ack();
          else if ((await nack(reason)).ok) nacked++;
        },
        {
          manualAck: true,
          maxAttempts: 100,
          retry: { baseMs: 600_000, maxMs: 600_000, factor: 1, jitter: 0 },
        },
      );
      await bus.publishMany("orders", [
        { payload: "good" },
        ...Array.from({ length: 20 }, (_, n) => ({ payload: n })),
        { payload: "last" },
      ]);
      await eventually(() => nacked === 21, "all were given back");
      await eventually(
        async () => {
          const [stored] = await database.db.collection("cursors").find().toArray();
          return (stored?.cursor?.attempts as unknown[] | undefined)?.length === 21;
        },
        "the cursor tells of them",
        15_000,
      );
    } finally {
      await bus.close();
    }
  });
});
