/** This project's systems: the bus on each store in this process, and a hub in a process of its own. */
import { type ChildProcess, fork } from "node:child_process";
import { once as event } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createBus } from "../../../src/bus/create-bus.js";
import { PromClient } from "../../../src/client/index.js";
import type { Store } from "../../../src/ports/store.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";
// The compiler must emit the threads' modules too, although nothing here calls them.
import type {} from "../../../src/stores/embedded/threads/reader-worker.js";
import type {} from "../../../src/stores/embedded/threads/writer-worker.js";
import { memoryStore } from "../../../src/stores/memory/index.js";
import { keyOf, payloadOf } from "../../events.js";
import { type Line, once, type System } from "./system.js";

export const TOKEN = "bench";
const TOPIC = "bench.events";
const MOST_IN_FLIGHT = 1_000;

/** The bus on a store that is made for each line. */
export async function busLine(store: Store, cleanUp: () => Promise<unknown>): Promise<Line> {
  const bus = await createBus({ store, topics: [{ name: TOPIC, partitions: 1 }] });
  return {
    publish: (n) => bus.publish(TOPIC, payloadOf(n), { key: keyOf(n) }),
    consume: async (onEvent, from, group) => {
      const stop = await bus.subscribe(TOPIC, group, onEvent, { from, batchSize: MOST_IN_FLIGHT });
      return { settled: stop };
    },
    close: async () => {
      await bus.close();
      await cleanUp();
    },
  };
}

export const memory: System = {
  name: "memory store, in process",
  durability: "in memory only",
  open: () => busLine(memoryStore(), async () => undefined),
};

export const embedded: System = {
  name: "embedded store, in process",
  durability: "synced to disk",
  open: async () => {
    const folder = await mkdtemp(join(tmpdir(), "promethean-bench-"));
    return busLine(embeddedStore({ path: join(folder, "bus.db") }), () =>
      rm(folder, { recursive: true, force: true }),
    );
  },
};

interface HubProcess {
  readonly url: string;
  readonly child: ChildProcess;
}

const hubProcess = once<HubProcess>(async () => {
  const child = fork(fileURLToPath(new URL("./hub-process.js", import.meta.url)), [TOKEN], {
    stdio: ["ignore", 2, 2, "ipc"],
  });
  const [url] = (await event(child, "message")) as [string];
  return { url, child };
});

let topics = 0;

/** Its address, for those who speak HTTP to it. */
export async function hubUrl(): Promise<string> {
  return (await hubProcess.get()).url;
}

export function newTopic(): string {
  return `bench.run-${++topics}`;
}

export const hub: System = {
  name: "hub over WebSocket",
  durability: "synced to disk",
  open: async () => {
    const topic = newTopic();
    const client = new PromClient(await hubUrl(), { token: TOKEN });
    await client.connect();
    return {
      publish: (n) => client.publish(topic, payloadOf(n), { key: keyOf(n) }),
      consume: async (onEvent, from, group) => {
        const options = { from, batchSize: MOST_IN_FLIGHT, maxInFlight: MOST_IN_FLIGHT };
        const stop = await client.subscribe(topic, group, onEvent, options);
        return { settled: stop };
      },
      close: () => client.close(),
    };
  },
  close: async () => {
    const running = await hubProcess.made();
    if (running === undefined) return;
    const ended = event(running.child, "exit");
    running.child.send("stop");
    await ended;
  },
};
