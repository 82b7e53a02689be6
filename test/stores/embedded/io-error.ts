/** Writes to a store whose file may not grow for long; tells what was acknowledged, the error, and what can be read. */
import { systemClock } from "../../../src/model/clock.js";
import { BusError } from "../../../src/model/errors.js";
import { JsonBody } from "../../../src/model/json.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";

const [path = ""] = process.argv.slice(2);
// By default the signal that comes with the error would end the process.
process.on("SIGXFSZ", () => {});
const store = embeddedStore({ path, onWarning: () => {} });
await store.open();
await store.registry.defineTopic({ name: "things", partitions: 2 });

let acked = 0;
let failures = 0;
while (failures < 3 && acked < 1_000) {
  const body = JsonBody.ofText(JSON.stringify("x".repeat(5_000)));
  const draft = { id: systemClock.newId(), ts: acked, key: "k", meta: undefined, body, freshId: true };
  try {
    await store.log.append("things", 0, [draft]);
    acked++;
  } catch (error) {
    failures++;
    const page = await store.log.read("things", 0, { after: 0, limit: 10_000 });
    const { code, message } = BusError.from(error);
    console.log(JSON.stringify({ acked, code, message, readable: page.events.length }));
  }
}
await store.close();
