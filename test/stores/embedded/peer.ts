/**
 * Another process on the same file. Does what it is told, one command per line, and answers each with a line:
 *
 *   append <count> <label>   appends that many events, one by one → the seqs
 *   claim <group>            opens a session and claims partition 0 → the epoch, or null
 */
import { hostname } from "node:os";
import { createInterface } from "node:readline";
import { systemClock } from "../../../src/model/clock.js";
import { JsonBody } from "../../../src/model/json.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";

const TOPIC = "things";
const [path = ""] = process.argv.slice(2);
const store = embeddedStore({ path });
await store.open();

async function appendOne(label: string, n: number): Promise<number> {
  const body = JsonBody.ofText(JSON.stringify({ label, n }));
  const draft = { id: systemClock.newId(), ts: Date.now(), key: label, meta: undefined, body, freshId: true };
  const { events } = await store.log.append(TOPIC, 0, [draft]);
  return events[0]?.seq ?? 0;
}

const commands: Record<string, (...args: string[]) => Promise<unknown>> = {
  async append(count = "0", label = "") {
    const seqs: number[] = [];
    for (let n = 1; n <= Number(count); n++) seqs.push(await appendOne(label, n));
    return seqs;
  },
  async claim(group = "") {
    const member = systemClock.newId();
    const nowMs = Date.now();
    const session = { member, host: hostname(), pid: process.pid, processStart: "" };
    await store.groups.open(session, { nowMs, ttlMs: 3_600_000 });
    await store.groups.start({ topic: TOPIC, group }, [0]);
    return (
      (await store.groups.claim({ topic: TOPIC, group, partition: 0 }, member, { nowMs }))?.epoch ?? null
    );
  },
};

console.log(JSON.stringify("ready"));
for await (const line of createInterface({ input: process.stdin })) {
  const [name = "", ...args] = line.split(" ");
  console.log(JSON.stringify(await commands[name]?.(...args)));
}
await store.close();
