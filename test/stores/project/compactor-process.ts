/** A compactor in a process of its own, always at work, until it is killed. It tells when it has removed something. */
import { writeSync } from "node:fs";
import { createBus } from "../../../src/bus/create-bus.js";
import { startCompactor } from "../../../src/project/compactor.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";

const [place = "", db = "", topic = ""] = process.argv.slice(2);

const store = db === "" ? embeddedStore({ path: place }) : mongoStore({ url: place, db });
const bus = await createBus({ store, onTrouble: () => undefined });
const compactor = startCompactor(bus, {
  topic,
  everyMs: 1,
  pauseMs: 0,
  batchSize: 20,
  maxKeys: 15,
  keepSnapshotsMs: 0,
});
const look = setInterval(() => {
  if (compactor.stats().removed === 0) return;
  clearInterval(look);
  writeSync(1, `${JSON.stringify({ type: "working" })}\n`);
}, 5);
