/** A member of a group in a process of its own: consumes, and tells each delivery, until it is asked to leave. */
import { createBus } from "../../../src/bus/create-bus.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { tellLine } from "../../support/tell-line.js";

const [url = "", db = "", topic = "", group = "", leaseMs = "3000"] = process.argv.slice(2);

const bus = await createBus({
  store: mongoStore({ url, db }),
  leaseMs: Number(leaseMs),
  onTrouble: () => undefined,
});

process.once("SIGTERM", () => {
  void bus.close().then(() => process.exit(0));
});

await bus.subscribe(
  topic,
  group,
  async (event, ctx) => {
    const { partition, seq, key } = event;
    tellLine({
      type: "delivered",
      partition,
      seq,
      key,
      attempt: ctx.attempt,
      epoch: ctx.fence.epoch,
      atMs: Date.now(),
    });
    // Long enough that a kill or a freeze finds events under way.
    await new Promise((resolve) => setTimeout(resolve, seq % 5));
  },
  { from: "earliest", maxInFlight: 50, maxAttempts: 1_000 },
);
tellLine({ type: "ready" });
