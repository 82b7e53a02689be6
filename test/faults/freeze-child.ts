/** A member of a group on one store file, in a process of its own: publishes, consumes, and tells each delivery. */
import { createBus } from "../../src/bus/create-bus.js";
import { BusError } from "../../src/model/errors.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { tellLine } from "../support/tell-line.js";

const [path = "", topic = "", group = "", leaseMs = "1000", name = ""] = process.argv.slice(2);

const bus = await createBus({
  store: embeddedStore({ path, onWarning: () => undefined }),
  topics: [{ name: topic, partitions: 4 }],
  leaseMs: Number(leaseMs),
  onTrouble: () => undefined,
});
let isLeaving = false;
process.once("SIGTERM", () => {
  isLeaving = true;
});

await bus.subscribe(
  topic,
  group,
  async ({ partition, seq, key }, { attempt }) => {
    tellLine({ type: "delivered", partition, seq, key, attempt, atMs: Date.now() });
    await new Promise((resolve) => setTimeout(resolve, seq % 5));
  },
  { from: "earliest", maxInFlight: 50, maxAttempts: 1_000 },
);
tellLine({ type: "ready" });

for (let n = 0; !isLeaving; n++) {
  try {
    const { partition, seq } = await bus.publish(topic, { n }, { id: `${name}-${n}`, key: `k${n % 13}` });
    tellLine({ type: "acked", id: `${name}-${n}`, partition, seq });
  } catch (error) {
    tellLine({ type: "failed", id: `${name}-${n}`, code: BusError.from(error).code });
  }
  await new Promise((resolve) => setTimeout(resolve, 4));
}
await bus.close();
