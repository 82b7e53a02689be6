/** A second process of a steady load, which is killed and frozen: it runs the projector and nothing else. */
import { writeSync } from "node:fs";
import { createBus } from "../../src/bus/create-bus.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { mongoStore } from "../../src/stores/mongo/index.js";
import { countingProjector, STEADY_LEASE_MS } from "./steady-projector.js";

const [kind = "", place = ""] = process.argv.slice(2);
const onWarning = (): void => undefined;
const store =
  kind === "mongo"
    ? mongoStore({ url: place, db: "endurance", onWarning })
    : embeddedStore({ path: place, onWarning });
const bus = await createBus({ store, leaseMs: STEADY_LEASE_MS, onTrouble: () => undefined });
await countingProjector(bus);
writeSync(1, `${JSON.stringify({ type: "ready" })}\n`);
process.once("SIGTERM", () => void bus.close());
