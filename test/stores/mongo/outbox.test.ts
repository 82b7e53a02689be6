/** The outbox in a transaction of the caller's, and drainers that compete for it. */
import { MongoClient, type Timestamp } from "mongodb";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MongoOutbox } from "../../../src/stores/mongo/index.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { FailPoint } from "../../support/mongo/fail-point.js";
import { NotedClient } from "../../support/mongo/noted-client.js";

const NOW = 1_000_000;
const claim = { owner: "d", leaseMs: 60_000, nowMs: NOW };

let database: TestDatabase;
let outbox: MongoOutbox;
const failPoint = new FailPoint(() => database.client);

beforeEach(async () => {
  database = await TestDatabase.create();
  outbox = new MongoOutbox(database.db);
  await outbox.prepare();
});
afterEach(async () => {
  await failPoint.release();
  await outbox.close();
  await database.dispose();
});

function entry(id: string, key?: string) {
  return { id, topic: "orders", payload: { id }, ...(key === undefined ? undefined : { key }) };
}

describe("adding in a transaction", () => {
  it("P10: commit means one entry, rollback none", async () => {
    const orders = database.db.collection("orders");
    const { client } = database;
    await client.withSession(async (session) => {
      await session.withTransaction(async () => {
        await orders.insertOne({ n: 1 }, { session });
        await outbox.add(entry("kept"), { session });
        await outbox.add(entry("kept"), { session });
      });
      session.startTransaction();
      await orders.insertOne({ n: 2 }, { session });
      await outbox.add(entry("dropped"), { session });
      await session.abortTransaction();
    });
    expect(await orders.countDocuments()).toBe(1);
    expect((await outbox.list({ status: "pending", limit: 9 })).map((row) => row.id)).toEqual(["kept"]);
  });

  it("P10: nothing is added outside of the transaction because its name is misspelt: that ends it", async () => {
    const orders = database.db.collection("misspelt");
    for (const name of ["sesion", "Session"])
      await expect(
        database.client.withSession((session) =>
          session.withTransaction(async () => {
            await orders.insertOne({ n: 1 }, { session });
            await outbox.add(entry("misspelt"), { [name]: session } as object);
          }),
        ),
      ).rejects.toMatchObject({ code: "INVALID_OPTION", message: expect.stringContaining(`"${name}"`) });
    expect(await orders.countDocuments()).toBe(0);
    expect(await outbox.stats()).toMatchObject({ pending: 0 });
    expect(() => new MongoOutbox(database.db, { colection: "o" } as object)).toThrow('no option "colection"');
  });

  it("P10: entries of one transaction, and of transactions one after the other, keep their order", async () => {
    const clients = [database.client, new MongoClient(database.url)];
    const outboxes = clients.map((client) => new MongoOutbox(client.db(database.name)));
    const order: string[] = [];
    for (let n = 0; n < 12; n++) {
      const client = clients[n % 2] as MongoClient;
      await client.withSession((session) =>
        session.withTransaction(async () => {
          for (const half of ["a", "b"]) await outboxes[n % 2]?.add(entry(`${n}${half}`, "k"), { session });
        }),
      );
      order.push(`${n}a`, `${n}b`);
    }
    expect((await outbox.claimBatch(100, claim)).map((c) => c.id)).toEqual(order);
    await clients[1]?.close();
  });

  it.each([
    ["another transaction in its way", { errorCode: 112, errorLabels: ["TransientTransactionError"] }],
    ["a connection that breaks", { closeConnection: true }],
  ])("P10: %s: withTransaction begins it anew", async (_, fault) => {
    const client = new MongoClient(database.urlWith(`appName=${database.name}`));
    const ofClient = new MongoOutbox(client.db(database.name));
    const orders = client.db(database.name).collection("orders");
    await failPoint.set(1, { failCommands: ["findAndModify"], appName: database.name, ...fault });
    await client.withSession((session) =>
      session.withTransaction(async () => {
        await orders.insertOne({ n: 1 }, { session });
        await ofClient.add(entry("a"), { session });
      }),
    );
    expect(await orders.countDocuments()).toBe(1);
    expect((await outbox.list({ status: "pending" })).map((row) => row.id)).toEqual(["a"]);
    await client.close();
  });

  it("wakes whoever watches, when the transaction commits and not before", async () => {
    let wakes = 0;
    const stop = outbox.watch(() => wakes++);
    await vi.waitFor(() => expect(wakes).toBe(1), { timeout: 30_000 });
    await database.client.withSession(async (session) => {
      await session.withTransaction(async () => {
        await outbox.add(entry("a"), { session });
        expect(wakes).toBe(1);
      });
    });
    await vi.waitFor(() => expect(wakes).toBe(2), { timeout: 30_000 });
    stop();
  });
});

describe("a key that is held up", () => {
  /** Entries that were added long ago, in this order. */
  async function addedBefore(entries: readonly { key: string; status: "pending" | "dead" }[]): Promise<void> {
    await outbox.add(entry("sample"));
    const rows = database.db.collection<{ _id: string; nth: string }>("outbox");
    const sample = await rows.findOneAndDelete({ _id: "sample" });
    await rows.insertMany(
      entries.map((one, n) => ({ ...sample, ...one, _id: `e${n}`, nth: `0${String(n).padStart(6, "0")}` })),
    );
  }

  function waiting(key: string, count: number) {
    return Array.from({ length: count }, () => ({ key, status: "pending" }) as const);
  }

  it("P10: holds up no other, however many entries wait behind the one that failed", async () => {
    await addedBefore([{ key: "a", status: "dead" }, ...waiting("a", 5_100)]);
    await outbox.add(entry("b", "b"));
    expect((await outbox.claimBatch(10, claim)).map(({ id }) => id)).toEqual(["b"]);
  });

  it("P10: nor do many such keys: what is behind them all is come by in a few calls", async () => {
    const keys = Array.from({ length: 300 }, (_, n) => `a${n}`);
    await addedBefore([
      ...keys.map((key) => ({ key, status: "dead" }) as const),
      ...keys.flatMap((key, n) => waiting(key, n < 200 ? 1 : 52)),
    ]);
    await outbox.add(entry("b", "b"));
    const claims = [await outbox.claimBatch(10, claim), await outbox.claimBatch(10, claim)];
    expect(claims.flat().map(({ id }) => id)).toEqual(["b"]);
  });
});

describe("an entry that is as large as MongoDB takes it", () => {
  const MIB = 1_048_576;
  const large = (bytes: number) => ({ ...entry("large", "k"), payload: "x".repeat(bytes) });

  it("P10, P15: leaves room for what is noted of it later, or is refused, so that it holds up no other", async () => {
    await expect(outbox.add(large(16 * MIB - 300))).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
    await outbox.add(large(16 * MIB - 65_536 - 500));
    await outbox.add(entry("small"));
    const claims = await outbox.claimBatch(10, claim);
    expect(claims.map(({ id }) => id)).toEqual(["large", "small"]);
    const error = "語".repeat(MIB);
    for (const { id, token } of claims)
      expect(await outbox.markError(id, token, { error, dead: true })).toBe(true);
    expect((await outbox.list({ status: "dead" })).map((row) => row.error?.length)).toEqual([500, 500]);
  });

  it("P10: ends the caller's transaction, with all that is in it", async () => {
    const orders = database.db.collection("orders");
    const adding = database.client.withSession((session) =>
      session.withTransaction(async () => {
        await orders.insertOne({ n: 1 }, { session });
        await outbox.add(large(16 * MIB - 300), { session });
      }),
    );
    await expect(adding).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
    expect(await orders.countDocuments()).toBe(0);
  });
});

describe("several drainers", () => {
  it("P10: they share the entries, each key in order, none twice", async () => {
    const drainers = [outbox, new MongoOutbox(database.db), new MongoOutbox(database.db)];
    for (let n = 0; n < 60; n++) await outbox.add(entry(`${n}`, n % 3 === 0 ? undefined : `k${n % 5}`));
    const sent: string[] = [];
    await Promise.all(
      drainers.map(async (drainer, d) => {
        for (let rounds = 0; sent.length < 60 && rounds < 400; rounds++) {
          for (const { id, token } of await drainer.claimBatch(4, { ...claim, owner: `d${d}` })) {
            sent.push(id);
            expect(await drainer.markSent(id, token, { nowMs: NOW })).toBe(true);
          }
        }
      }),
    );
    expect([...sent].sort((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 60 }, (_, n) => `${n}`),
    );
    for (let k = 0; k < 5; k++) {
      const ofKey = sent.map(Number).filter((n) => n % 3 !== 0 && n % 5 === k);
      expect(ofKey).toEqual([...ofKey].sort((a, b) => a - b));
    }
  });
});

describe("what a drainer asks behind a write of its own", () => {
  it("P10: is asked as of that write, whichever node answers", async () => {
    const noted = new NotedClient(database.url);
    const drainer = new MongoOutbox(noted.client.db(database.name));
    await drainer.prepare();
    await outbox.add(entry("a", "k"));
    noted.forget();
    const [held] = await drainer.claimBatch(10, claim);
    for (let times = 0; times < 2; times++) await drainer.markSent("a", held?.token ?? "");
    const first = noted.names.indexOf("update");
    const written: Timestamp = noted.replies[first]?.["operationTime"];
    const asked = noted.commands.slice(first).filter(({ find }) => find !== undefined);
    expect(asked).toHaveLength(3);
    for (const { readConcern } of asked)
      expect(readConcern.afterClusterTime?.greaterThanOrEqual(written)).toBe(true);
    await drainer.close();
    await noted.close();
  });
});

describe("entries that are marked as sent at once", () => {
  const ids = Array.from({ length: 60 }, (_, n) => `e${n}`);
  let noted: NotedClient;
  let drained: MongoOutbox;

  beforeEach(async () => {
    noted = new NotedClient(database.url);
    drained = new MongoOutbox(noted.client.db(database.name));
    await drained.prepare();
    await Promise.all(ids.map((id) => outbox.add(entry(id, `k${id.length}`))));
  });
  afterEach(async () => {
    await drained.close();
    await noted.close();
  });

  const markAll = (claims: readonly { id: string; token: string }[]): Promise<boolean[]> =>
    Promise.all(claims.map(({ id, token }) => drained.markSent(id, token, { nowMs: NOW })));
  const idsOf = async (status: "sent" | "claimed" | "pending"): Promise<string[]> =>
    (await outbox.list({ status, limit: 100 })).map(({ id }) => id).sort();

  it("P10: are marked by one command", async () => {
    const claims = await drained.claimBatch(100, claim);
    noted.forget();
    expect(await markAll(claims)).toEqual(ids.map(() => true));
    expect(noted.names).toEqual(["update"]);
    expect(await idsOf("sent")).toEqual([...ids].sort());
    expect(await markAll(claims)).toEqual(ids.map(() => false));
  });

  it("P6: are settled once, though it is said twice", async () => {
    const claims = await drained.claimBatch(100, claim);
    const answers = await markAll([...claims, ...claims]);
    expect(answers).toEqual([...ids.map(() => true), ...ids.map(() => false)]);
  });

  it("P10: are told one by one whether their claim held", async () => {
    const claims = await drained.claimBatch(100, { ...claim, leaseMs: 1 });
    await expect.poll(() => outbox.requeueExpired()).toBe(60);
    const theirs = await outbox.claimBatch(40, { ...claim, owner: "other" });
    for (const { id, token } of theirs.slice(0, 10)) expect(await outbox.markSent(id, token)).toBe(true);
    expect(await markAll(claims)).toEqual(ids.map(() => false));
    expect(await drained.claimBatch(100, claim)).toHaveLength(0);
    const held = new Set(theirs.slice(20).map(({ id }) => id));
    const mixed = theirs.map(({ id, token }) => ({ id, token: held.has(id) ? token : `x ${id}` }));
    expect(await markAll(mixed)).toEqual(theirs.map(({ id }) => held.has(id)));
    expect(await idsOf("sent")).toHaveLength(30);
  });

  it.each([
    ["the server refuses the command", { errorCode: 14031 }],
    ["the connection breaks", { closeConnection: true }],
  ])("P10: are marked all the same when %s", async (_, fault) => {
    const claims = await drained.claimBatch(100, claim);
    await failPoint.set(1, { failCommands: ["update"], ...fault, namespace: `${database.name}.outbox` });
    expect(await markAll(claims)).toEqual(ids.map(() => true));
    expect(await idsOf("sent")).toEqual([...ids].sort());
  });

  it("P10: and when one of them fails alone as well, the others are told that they were marked", async () => {
    const claims = await drained.claimBatch(100, claim);
    await failPoint.set(2, {
      failCommands: ["update"],
      errorCode: 14031,
      namespace: `${database.name}.outbox`,
    });
    const told = await Promise.allSettled(
      claims.map(({ id, token }) => drained.markSent(id, token, { nowMs: NOW })),
    );
    const failed = told.filter(({ status }) => status === "rejected");
    expect(failed).toMatchObject([{ reason: { code: "STORE_FULL" } }]);
    expect(told.filter((one) => one.status === "fulfilled" && one.value)).toHaveLength(ids.length - 1);
    expect(await idsOf("sent")).toHaveLength(ids.length - 1);
  });
});
