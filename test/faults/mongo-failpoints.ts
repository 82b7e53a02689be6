/**
 * MongoDB's own failpoints under load: every kind of error that the driver or the store has to tell apart, on the
 * commands that a bus sends. A fault that strikes once is mostly hidden by the driver; one that strikes many times in a
 * row comes through to the store, whose answer must be honest: failed without effect, or unknown (P1, P3).
 */
import { type Document, MongoClient } from "mongodb";
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import { startMongoChangefeed } from "../../src/mongo.js";
import { mongoStore } from "../../src/stores/mongo/index.js";
import { ReplicaSet } from "../support/mongo/replica-set.js";
import { pause } from "./bus-load.js";
import { startMongoLoad } from "./mongo-load.js";
import { goesOn, type PartOptions, type PartReport, Tally } from "./report.js";

interface Blow {
  readonly name: string;
  readonly times: number;
  readonly data: Document;
}

const WRITES = ["insert", "update", "delete", "findAndModify", "bulkWrite"];
const READS = ["find", "aggregate", "getMore"];
/** Not primary, shutting down, interrupted, network trouble behind a mongos: all "try again". */
const RETRYABLE_CODES = [6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436];
/** Lets the failpoints hit the buses alone, not the hands of the test. */
const APP = "promethean";

const once = (name: string, data: Document): Blow => ({ name, times: 1, data });
const often = (name: string, data: Document): Blow => ({ name: `${name}, six times over`, times: 6, data });

const BLOWS: readonly Blow[] = [
  ...RETRYABLE_CODES.flatMap((errorCode) => {
    const write = { failCommands: WRITES, errorCode, errorLabels: ["RetryableWriteError"] };
    return [
      once(`RetryableWriteError ${errorCode}`, write),
      often(`RetryableWriteError ${errorCode}`, write),
      often(`read error ${errorCode}`, { failCommands: READS, errorCode }),
    ];
  }),
  often("RetryableWriteError + NoWritesPerformed 91", {
    failCommands: WRITES,
    errorCode: 91,
    errorLabels: ["RetryableWriteError", "NoWritesPerformed"],
  }),
  often("written, then write concern error 91", {
    failCommands: WRITES,
    writeConcernError: { code: 91, errmsg: "shutting down", errorLabels: ["RetryableWriteError"] },
  }),
  often("written, then write concern error 64", {
    failCommands: WRITES,
    writeConcernError: { code: 64, errmsg: "waiting for replication timed out" },
  }),
  often("TransientTransactionError 112 on writes", {
    failCommands: WRITES,
    errorCode: 112,
    errorLabels: ["TransientTransactionError"],
  }),
  often("TransientTransactionError 251 on commit", {
    failCommands: ["commitTransaction"],
    errorCode: 251,
    errorLabels: ["TransientTransactionError"],
  }),
  often("UnknownTransactionCommitResult 50", {
    failCommands: ["commitTransaction"],
    errorCode: 50,
    errorLabels: ["UnknownTransactionCommitResult"],
  }),
  often("committed, then write concern error 64", {
    failCommands: ["commitTransaction"],
    writeConcernError: { code: 64, errmsg: "waiting for replication timed out" },
  }),
  often("committed, then write concern error 91", {
    failCommands: ["commitTransaction"],
    writeConcernError: { code: 91, errmsg: "shutting down", errorLabels: ["RetryableWriteError"] },
  }),
  often("connection closed on writes", { failCommands: WRITES, closeConnection: true }),
  often("connection closed on commit", { failCommands: ["commitTransaction"], closeConnection: true }),
  often("connection closed on reads", { failCommands: READS, closeConnection: true }),
  often("MaxTimeMSExpired 50", { failCommands: [...WRITES, ...READS], errorCode: 50 }),
  often("writes stand still for 300 ms", {
    failCommands: WRITES,
    blockConnection: true,
    blockTimeMS: 300,
  }),
  often("Interrupted 11601", {
    failCommands: [...WRITES, ...READS, "commitTransaction"],
    errorCode: 11601,
  }),
  often("CursorNotFound 43", { failCommands: ["getMore"], errorCode: 43 }),
  often("ChangeStreamHistoryLost 286", { failCommands: ["aggregate", "getMore"], errorCode: 286 }),
  once("ChangeStreamHistoryLost 286 in the midst", { failCommands: ["getMore"], errorCode: 286 }),
  often("ChangeStreamFatalError 280", {
    failCommands: ["aggregate", "getMore"],
    errorCode: 280,
    errorLabels: ["NonResumableChangeStreamError"],
  }),
];

export async function runMongoFailpoints(options: PartOptions): Promise<PartReport> {
  const tally = new Tally();
  await using set = await ReplicaSet.start();
  const hand = new MongoClient(set.url, { appName: "hand" });
  try {
    const url = `${set.url}&socketTimeoutMS=5000`;
    const { load, finish } = await startMongoLoad(url, "failpoints");
    const feed = await startFeed(url);
    await load.progress(50);
    for (let round = 0; goesOn(options, round); round++) {
      const blow = BLOWS[(round * 7 + options.seed) % BLOWS.length] as Blow;
      await feed.change(hand);
      const struck = await strike(hand, blow);
      tally.fault(`failpoint: ${blow.name}`);
      await feed.change(hand);
      await load.progress(20);
      tally.fault("commands that a failpoint struck", (await mend(hand)) - struck);
    }
    await finish(tally);
    await feed.finish(hand, tally);
  } finally {
    await hand.close();
  }
  return tally.report();
}

/** How often the failpoint has struck so far. */
async function strike(hand: MongoClient, { times, data }: Blow): Promise<number> {
  const struck = await mend(hand);
  await hand.db("admin").command({
    configureFailPoint: "failCommand",
    mode: { times },
    data: { ...data, appName: APP },
  });
  return struck;
}

/** A blow that found nothing to strike must not hit the next round. */
async function mend(hand: MongoClient): Promise<number> {
  const { count } = await hand.db("admin").command({ configureFailPoint: "failCommand", mode: "off" });
  return Number(count ?? 0);
}

interface Feed {
  /** Changes the collection that the feed follows. */
  change(hand: MongoClient): Promise<void>;
  finish(hand: MongoClient, tally: Tally): Promise<void>;
}

/** A change feed beside the load: what it published must lead to what the collection holds (P12). */
async function startFeed(url: string): Promise<Feed> {
  const client = new MongoClient(`${url}&appName=${APP}`);
  const store = mongoStore({ url, db: "feed", onWarning: () => undefined });
  const bus = await createBus({ store, onTrouble: () => undefined });
  await bus.defineTopic({ name: "things.changed", partitions: 1 });
  const feed = startMongoChangefeed(client.db("feed"), bus, { collection: "things" });
  const things = (hand: MongoClient) => hand.db("feed").collection<Document & { _id: number }>("things");
  let changes = 0;
  return {
    async change(hand) {
      const n = ++changes;
      await things(hand).updateOne({ _id: n % 5 }, { $set: { n } }, { upsert: true });
      if (n % 4 === 0) await things(hand).deleteOne({ _id: (n + 2) % 5 });
    },
    async finish(hand, tally) {
      const wanted = Object.fromEntries(
        (await things(hand).find().toArray()).map(({ _id, n }) => [String(_id), n]),
      );
      const found = await settledState(bus, wanted);
      if (JSON.stringify(found) !== JSON.stringify(wanted)) {
        tally.anomaly(
          "feed",
          `the feed leads to ${JSON.stringify(found)}, the collection holds ${JSON.stringify(wanted)}`,
        );
      }
      tally.checked("changes of a collection followed", changes);
      tally.note(`the change feed reconciled ${feed.stats().reconciliations} times`);
      await feed.stop();
      await bus.close();
      await client.close();
    },
  };
}

async function settledState(bus: Bus, wanted: Record<string, unknown>): Promise<Record<string, unknown>> {
  const deadlineMs = performance.now() + 60_000;
  for (;;) {
    const state = await publishedState(bus);
    if (JSON.stringify(state) === JSON.stringify(wanted) || performance.now() > deadlineMs) return state;
    await pause(100);
  }
}

async function publishedState(bus: Bus): Promise<Record<string, unknown>> {
  const state = new Map<string, unknown>();
  for await (const { key = "", payload } of bus.read<{ document: Document | null }>("things.changed")) {
    if (payload.document === null) state.delete(key);
    else state.set(key, payload.document.n);
  }
  return Object.fromEntries([...state].sort(([a], [b]) => Number(a) - Number(b)));
}
