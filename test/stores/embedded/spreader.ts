/**
 * A process that appends one small event to each partition of the topic at once, round after round from the given one on,
 * and says the number of each round that was acknowledged in full, until it is killed.
 */
import { systemClock } from "../../../src/model/clock.js";
import { JsonBody } from "../../../src/model/json.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";

const [path = "", partitions = "0", first = "1"] = process.argv.slice(2);
const store = embeddedStore({ path });
await store.open();
const filler = "x".repeat(1_500);

function appendOne(partition: number, round: number): Promise<unknown> {
  const body = JsonBody.ofText(JSON.stringify({ round, filler }));
  const id = systemClock.newId();
  const draft = { id, ts: Date.now(), key: "theirs", meta: undefined, body, freshId: true };
  return store.log.append("things", partition, [draft]);
}

for (let round = Number(first); ; round++) {
  await Promise.all(Array.from({ length: Number(partitions) }, (_, p) => appendOne(p, round)));
  console.log(round);
}
