/**
 * Publishes to one store file and projects from it, in several lives of the store (each ends with a checkpoint), and
 * leaves a line in another file for each publish that was acknowledged. Another topic comes and goes meanwhile. Its system calls are
 * watched, or made to fail.
 */
import { openSync, writeSync } from "node:fs";
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import { systemClock } from "../../src/model/clock.js";
import { BusError } from "../../src/model/errors.js";
import { startTransactionalProjector } from "../../src/project/views/transactional.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { type DiskLine, PARTITIONS, PROJECTION, TOPIC, VIEW } from "./disk-names.js";
import { PASSING_TOPIC, PassingTopic } from "./passing-topic.js";

const [path = "", ackPath = "", lives = "1", batches = "10", durability = "sync", use = "shared"] =
  process.argv.slice(2);
/** Then ids are such as a bus makes: others are looked up in the store, and no append goes ahead. */
const exclusive = use === "exclusive";
const acks = openSync(ackPath, "a");
const tell = (line: DiskLine): void => void writeSync(acks, `${JSON.stringify(line)}\n`);

/** More than any fault lasts. */
const LAST_TRIES = 40;

let n = 0;
const passing = new PassingTopic(tell, exclusive ? () => systemClock.newId() : undefined);

for (let life = 0; life < Number(lives); life++) {
  // The bus defines it again.
  tell({ passing: "asked" });
  const bus = await createBus({
    store: embeddedStore({
      path,
      exclusive,
      durability: durability === "os" ? "os" : "sync",
      onWarning: () => undefined,
    }),
    topics: [{ name: TOPIC, partitions: PARTITIONS, keyed: true }, PASSING_TOPIC],
    publishTimeoutMs: 500,
    onTrouble: () => undefined,
  });
  await startTransactionalProjector(bus, {
    topic: TOPIC,
    group: PROJECTION,
    from: "earliest",
    maxAttempts: 1_000,
    handler: async (events, tx) => {
      for (const { key } of events) await tx.view(VIEW).inc(key ?? "-", { count: 1 });
    },
  });
  for (let batch = 0; batch < Number(batches); batch++) {
    await Promise.all([
      ...Array.from({ length: 1 + (batch % 5) }, () => publishOne(bus)),
      ...(batch % 6 === 1 ? [passing.fill(bus)] : []),
      ...(batch % 6 === 4 ? [passing.remove(bus)] : []),
    ]);
  }
  // The last batch may be the one that a fault fell on: what tells is whether anything goes through after it.
  if (!(await passing.insist(bus, LAST_TRIES))) tell({ failed: "NEVER", id: "its removal" });
  if (life % 2 === 1) await passing.fill(bus);
  for (let tries = 0; tries < LAST_TRIES; tries++) if (await publishOne(bus)) break;
  await bus.close();
}

/** Whether it was acknowledged. */
async function publishOne(bus: Bus): Promise<boolean> {
  const id = exclusive ? systemClock.newId() : `e${n + 1}`;
  n++;
  try {
    const payload = { n, text: "x".repeat((n * 37) % 3_000) };
    const { partition, seq } = await bus.publish(TOPIC, payload, { id, key: `k${n % 7}` });
    tell({ id, partition, seq });
    return true;
  } catch (error) {
    tell({ failed: BusError.from(error).code, id });
    return false;
  }
}
