/** The other process of the MongoDB suite: writes into the same partition, or listens. Ends when it is told to stop. */
import { MongoClient } from "mongodb";
import { createBus } from "../../src/bus/create-bus.js";
import { systemClock } from "../../src/model/clock.js";
import { jsonBody } from "../../src/model/json.js";
import type { Store } from "../../src/ports/store.js";
import { mongoStore } from "../../src/stores/mongo/index.js";
import { keyOf, payloadOf } from "../events.js";

const [role, url = "", db = "", topic = "", count = "0"] = process.argv.slice(2);
const BATCH = 1_000;
const WARM_UP = 20_000;

function tell(message: unknown): void {
  process.send?.(message as object);
}

function heard(sentAt: string): void {
  tell(Number(process.hrtime.bigint() - BigInt(sentAt)) / 1e6);
}

/** Resolves at the next message. */
function message(): Promise<unknown> {
  return new Promise((resolve) => process.once("message", resolve));
}

async function write(): Promise<void> {
  const store = mongoStore({ url, db });
  await store.open();
  // The bare driver's process has run its rounds before, too: what is compared is running code, not code being compiled.
  await append(store, `${topic}.warm-${process.pid}`, WARM_UP);
  tell("ready");
  await message();
  await append(store, topic, Number(count));
  tell("done");
  await message();
  await store.close();
}

async function append(store: Store, to: string, events: number): Promise<void> {
  for (let n = 0; n < events; n += BATCH) {
    const drafts = Array.from({ length: BATCH }, (_, i) => ({
      id: systemClock.newId(),
      ts: Date.now(),
      key: keyOf(n + i),
      meta: undefined,
      body: jsonBody(payloadOf(n + i), { maxPayloadBytes: 4_096, maxPayloadDepth: 4 }),
      freshId: true,
    }));
    const { error } = await store.log.append(to, 0, drafts);
    if (error !== undefined) throw error;
  }
}

async function stream(): Promise<void> {
  const client = new MongoClient(url);
  const changes = client.db(db).collection("events").watch();
  changes.on("change", (change) => {
    if (change.operationType === "insert") heard(change.fullDocument.payload.sentAt);
  });
  await new Promise((resolve) => changes.once("resumeTokenChanged", resolve));
  tell("ready");
  await message();
  await changes.close();
  await client.close();
}

async function handle(): Promise<void> {
  const bus = await createBus({ store: mongoStore({ url, db }) });
  await bus.subscribe<{ sentAt: string }>(topic, "bench", ({ payload }) => heard(payload.sentAt));
  tell("ready");
  await message();
  await bus.close();
}

await { write, stream, handle }[role as "write" | "stream" | "handle"]();
if (process.connected) process.disconnect();
