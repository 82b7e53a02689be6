/** Has a store for itself whose log may not grow for long; tells how the first append fails, and whether a lone event goes ahead then. */
import { systemClock } from "../../../src/model/clock.js";
import { BusError } from "../../../src/model/errors.js";
import type { EventDraft } from "../../../src/model/event.js";
import { JsonBody } from "../../../src/model/json.js";
import { nextTurn } from "../../../src/model/next-turn.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";

const [path = ""] = process.argv.slice(2);
// By default the signal that comes with the error would end the process.
process.on("SIGXFSZ", () => {});
const store = embeddedStore({ path, exclusive: true, onWarning: () => {} });
await store.open();
await store.registry.defineTopic({ name: "things", partitions: 1 });

function draft(length: number): EventDraft {
  const body = JsonBody.ofText(JSON.stringify("x".repeat(length)));
  return { id: systemClock.newId(), ts: 1, key: undefined, meta: undefined, body, freshId: true };
}

/** Events that are too large to go ahead, until one fails. */
async function fill(): Promise<string> {
  for (let n = 0; n < 1_000; n++) {
    try {
      await store.log.append("things", 0, [draft(100_000)]);
    } catch (error) {
      return BusError.from(error).code;
    }
  }
  return "none";
}

/** After a slow sync some go by the thread. */
async function goesAhead(): Promise<boolean> {
  for (let tries = 0; tries < 1_000; tries++) {
    await store.log.append("things", 0, [draft(1)]);
    await nextTurn();
    if (store.log.appendNow?.("things", 0, [draft(1)]) !== undefined) return true;
  }
  return false;
}

const before = await goesAhead();
const code = await fill();
await nextTurn();
const after = store.log.appendNow?.("things", 0, [draft(1)]) !== undefined;
console.log(JSON.stringify({ before, code, after }));
await store.close();
