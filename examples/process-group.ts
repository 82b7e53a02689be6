/** Three processes share the partitions of a topic as one group; each event is handled by one of them. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createBus, defineTopic } from "promethean";
import { embeddedStore } from "promethean/stores/embedded";
import { z } from "zod";
import { temporaryFolder } from "./temporary-folder.js";

const EVENTS = 300;
const Job = defineTopic("jobs", { schema: z.object({ n: z.number() }), partitions: 6 });

async function work(path: string): Promise<void> {
  const bus = await createBus({ store: embeddedStore({ path }), topics: [Job] });
  await bus.subscribe(Job, "workers", ({ payload }) => void process.send?.(payload.n), { from: "earliest" });
  await once(process, "disconnect");
  await bus.close();
}

async function share(path: string): Promise<void> {
  const bus = await createBus({ store: embeddedStore({ path }), topics: [Job] });
  const workers: ChildProcess[] = [];
  const handled = new Map<ChildProcess, number>();
  const seen = new Set<number>();
  for (let i = 0; i < 3; i++) {
    const worker = fork(fileURLToPath(import.meta.url), ["worker", path]);
    worker.on("message", (n: number) => {
      seen.add(n);
      handled.set(worker, (handled.get(worker) ?? 0) + 1);
    });
    workers.push(worker);
  }
  const owners = async (): Promise<number> => {
    const position = await bus.getCursor("jobs", "workers");
    return new Set(position?.partitions.map(({ owner }) => owner).filter((owner) => owner !== null)).size;
  };
  while ((await owners()) < 3) await new Promise((resolve) => setTimeout(resolve, 50));
  const items = Array.from({ length: EVENTS }, (_, n) => ({ payload: { n }, key: `k${n}` }));
  await bus.publishMany(Job, items);
  while (seen.size < EVENTS) await new Promise((resolve) => setTimeout(resolve, 50));
  console.log(`${seen.size} jobs done by ${handled.size} processes, each by one of them`);
  for (const worker of workers) worker.disconnect();
  await Promise.all(workers.map((worker) => once(worker, "exit")));
  await bus.close();
}

const [, , role, path] = process.argv;
if (role === "worker") await work(path ?? "");
else await share(`${temporaryFolder()}/bus.db`);
