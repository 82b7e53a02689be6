/** Appends and reads on a store that it has for itself, and ends without closing it. Args: the store's file. */
import { systemClock } from "../../../src/model/clock.js";
import { JsonBody } from "../../../src/model/json.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";

const store = embeddedStore({ path: process.argv[2] ?? "", exclusive: true });
await store.open();
await store.registry.defineTopic({ name: "t", partitions: 1 });

async function append(): Promise<void> {
  const body = JsonBody.ofText("1");
  const draft = { id: systemClock.newId(), ts: 1, key: undefined, meta: undefined, body, freshId: true };
  await store.log.append("t", 0, [draft]);
}

for (let n = 1; n <= 5; n++) await append();
const { events } = await store.log.read("t", 0, { after: 0, limit: 10 });
console.log(events.length);
await append();
