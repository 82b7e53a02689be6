/**
 * A store under which every read of its log fails for a while, as strace makes it. Tells what is said meanwhile, what is
 * there once the device is well again, and what a check finds after it was folded into the main file. Args: the store's file.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { systemClock } from "../../src/model/clock.js";
import { BusError } from "../../src/model/errors.js";
import type { EventDraft } from "../../src/model/event.js";
import { JsonBody } from "../../src/model/json.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";

const TOPIC = "things";
const [path = ""] = process.argv.slice(2);
const store = embeddedStore({ path, onWarning: () => undefined });
await store.open();
await store.registry.defineTopic({ name: TOPIC, partitions: 1 });

function draft(): EventDraft {
  const body = JsonBody.ofText(JSON.stringify("x".repeat(5_000)));
  return { id: systemClock.newId(), ts: 1, key: undefined, meta: undefined, body, freshId: true };
}

const read = (): Promise<number | string> =>
  store.log.read(TOPIC, 0, { after: 0, limit: 10_000 }).then(
    ({ events }) => events.length,
    (error: unknown) => BusError.from(error).code,
  );

/** Not EIO, which SQLite itself takes for damage. */
async function failReads(): Promise<ChildProcess> {
  const inject = ["-e", "trace=pread64", "-e", "inject=pread64:error=ESTALE", "-P", `${path}-wal`];
  const args = ["-f", "-p", String(process.pid), "-o", "/dev/null", ...inject];
  const strace = spawn("strace", args, { stdio: ["ignore", "ignore", "pipe"] });
  for await (const text of strace.stderr ?? []) if (String(text).includes("attached")) return strace;
  throw new Error("strace did not attach");
}

for (let n = 0; n < 10; n++)
  await store.log.append(
    TOPIC,
    0,
    Array.from({ length: 100 }, () => draft()),
  );
const strace = await failReads();
const during = await read();
strace.kill("SIGINT");
await once(strace, "close");
const after = await read();
await store.log.append(TOPIC, 0, [draft()]);
await store.close();
await store.open();
const again = await read();
const { problems } = await store.check();
console.log(JSON.stringify({ during, after, again, problems }));
await store.close();
