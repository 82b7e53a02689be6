/** Transactions that the server does not let come to their end. */
import { type ClientSession, MongoClient } from "mongodb";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { inTransaction } from "../../../src/stores/mongo/connection/transaction.js";
import { failure } from "../../support/failure.js";
import { admin, ReplicaSet } from "../../support/mongo/replica-set.js";

const LEDGER = "ledger";
const PATIENCE = { patienceMs: 100 };

let set: ReplicaSet;
let client: MongoClient;
let session: ClientSession;

beforeAll(async () => {
  set = await ReplicaSet.start();
  await admin(await set.primary(), { setParameter: 1, transactionLifetimeLimitSeconds: 1 });
  client = await MongoClient.connect(set.url);
  await client.db("shop").createCollection(LEDGER);
});
afterAll(async () => {
  await client.close();
  await set.dispose();
});
beforeEach(() => {
  session = client.startSession();
});
afterEach(() => session.endSession());

const write = () => client.db("shop").collection(LEDGER).insertOne({ n: 1 }, { session });
const isOpen = async (): Promise<boolean> => {
  const { transactions } = await client.db("admin").command({ serverStatus: 1 });
  return transactions.currentOpen > 0;
};

describe("a transaction that takes longer than the server lets it", () => {
  it.each([
    ["is over when it is to be committed", () => undefined],
    ["is over when it goes on", write],
  ])("P15: %s: it is told, and has had no effect", async (_, goOn) => {
    let tries = 0;
    const error = await failure(
      inTransaction(
        session,
        async () => {
          tries++;
          await write();
          await expect.poll(isOpen).toBe(false);
          await goOn();
        },
        PATIENCE,
      ),
    );
    expect(error).toMatchObject({ code: "WRITE_CONFLICT", details: { tooLong: true } });
    expect(error.message).toContain("transactionLifetimeLimitSeconds");
    expect(tries).toBe(1);
    expect(await client.db("shop").collection(LEDGER).countDocuments()).toBe(0);
  });

  it("is begun anew as long as there is patience", async () => {
    let tries = 0;
    await inTransaction(session, async () => {
      await write();
      if (++tries === 1) await expect.poll(isOpen).toBe(false);
    });
    expect(await client.db("shop").collection(LEDGER).countDocuments()).toBe(1);
  });
});
