/** What limits everybody: a file that is synced, a database by its bare driver, bare sockets. */
import { type ChildProcess, fork } from "node:child_process";
import { once as event } from "node:events";
import { mkdtemp, open, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MongoClient } from "mongodb";
import { v7 } from "uuid";
import { WebSocket } from "ws";
import { ensureIndexes, mongoStore } from "../../../src/stores/mongo/index.js";
import { ReplicaSet } from "../../../test/support/mongo/replica-set.js";
import { keyOf, payloadOf } from "../../events.js";
import { busLine, hubUrl, newTopic, TOKEN } from "./ours.js";
import { GroupCommit, type Line, once, type System } from "./system.js";

const BATCH = 1_000;

export const rawLog: System = {
  name: "a file, appended and synced",
  durability: "synced to disk",
  open: async () => {
    const folder = await mkdtemp(join(tmpdir(), "promethean-bench-"));
    const file = await open(join(folder, "log"), "a");
    const commits = new GroupCommit(BATCH, async (events) => {
      let text = "";
      for (const n of events)
        text += `{"id":"${v7()}","ts":${Date.now()},"key":"${keyOf(n)}","payload":${JSON.stringify(payloadOf(n))}}\n`;
      await file.write(text);
      await file.datasync();
    });
    return {
      publish: (n) => commits.add(n),
      close: async () => {
        await file.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
};

const replicaSet = once(() => ReplicaSet.start({ cacheGb: 1 }));
const mongoUrl = async (): Promise<string> =>
  process.env.PROMETHEAN_TEST_MONGO_URL ?? (await replicaSet.get()).url;
const stopMongo = async (): Promise<void> => (await replicaSet.made())?.dispose();
const JOURNALED = "in the journal of a majority (of one node)";
let databases = 0;

async function withoutDatabase(url: string, db: string): Promise<void> {
  const client = new MongoClient(url);
  await client.db(db).dropDatabase();
  await client.close();
}

export const busOnMongo: System = {
  name: "bus on MongoDB",
  durability: JOURNALED,
  place: "MongoDB",
  open: async () => {
    const [url, db] = [await mongoUrl(), `bench_${process.pid}_${++databases}`];
    return busLine(mongoStore({ url, db }), () => withoutDatabase(url, db));
  },
  close: stopMongo,
};

/** The same documents and indexes, by pages. */
export const mongoDriver: System = {
  name: "MongoDB's driver, insertMany and find",
  durability: JOURNALED,
  place: "MongoDB",
  open: async () => {
    const [url, name] = [await mongoUrl(), `bench_${process.pid}_${++databases}`];
    const client = new MongoClient(url);
    const db = client.db(name, { writeConcern: { w: "majority", journal: true } });
    await ensureIndexes(db);
    const events = db.collection<{ _id: string; seq: number }>("events", {
      readConcern: { level: "majority" },
    });
    let seq = 0;
    const at = { topic: "bench.events", partition: 0 };
    const commits = new GroupCommit(BATCH, (batch) =>
      events.insertMany(
        batch.map((n) => ({
          _id: v7(),
          ...at,
          seq: ++seq,
          ts: Date.now(),
          key: keyOf(n),
          payload: payloadOf(n),
        })),
      ),
    );
    return {
      publish: (n) => commits.add(n),
      consume: async (onEvent) => {
        const all = async (): Promise<void> => {
          for (let after = 0; after < seq; after += BATCH) {
            const page = events
              .find({ ...at, seq: { $gt: after } })
              .sort({ seq: 1 })
              .limit(BATCH)
              .batchSize(BATCH);
            for (const _ of await page.toArray()) onEvent();
          }
        };
        const reading = all();
        return { settled: () => reading };
      },
      close: async () => {
        await client.close();
        await withoutDatabase(url, name);
      },
    };
  },
  close: stopMongo,
};

interface EchoProcess {
  readonly port: number;
  readonly child: ChildProcess;
}

const echoProcess = once<EchoProcess>(async () => {
  const child = fork(fileURLToPath(new URL("./echo-process.js", import.meta.url)), {
    stdio: ["ignore", 2, 2, "ipc"],
  });
  const [port] = (await event(child, "message")) as [number];
  return { port, child };
});

async function stopEcho(): Promise<void> {
  const running = await echoProcess.made();
  if (running === undefined || running.child.exitCode !== null) return;
  const ended = event(running.child, "exit");
  running.child.disconnect();
  await ended;
}

async function socketLine(path: string): Promise<Line> {
  const socket = new WebSocket(`ws://127.0.0.1:${(await echoProcess.get()).port}${path}`, {
    perMessageDeflate: false,
  });
  await event(socket, "open");
  const waiting: (() => void)[] = [];
  let answered = 0;
  socket.on("message", () => waiting[answered++]?.());
  return {
    publish: (n) =>
      new Promise<void>((resolve) => {
        waiting.push(resolve);
        socket.send(JSON.stringify({ key: keyOf(n), payload: payloadOf(n) }));
      }),
    close: async () => socket.terminate(),
  };
}

export const bareSocket: System = {
  name: "bare ws, a frame each",
  durability: "not kept",
  open: () => socketLine(""),
  close: stopEcho,
};

/** What a hub that answers an event by itself cannot be faster than. */
export const syncedSocket: System = {
  name: "bare ws, a file synced for each frame",
  durability: "synced to disk",
  open: () => socketLine("/synced"),
  close: stopEcho,
};

/** One POST for each event, over connections that stay open. */
function posting(
  name: string,
  durability: string,
  to: () => Promise<{ url: string; token?: string }>,
): System {
  return {
    name,
    durability,
    open: async () => httpLine(await to()),
    close: stopEcho,
  };
}

async function httpLine({ url, token }: { url: string; token?: string }): Promise<Line> {
  const agent = new Agent({ keepAlive: true });
  const topic = newTopic();
  const headers = {
    "content-type": "application/json",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const post = (n: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const sent = request(`${url}/publish`, { method: "POST", agent, headers }, (response) => {
        response.resume().once("end", () => {
          if (response.statusCode !== undefined && response.statusCode < 300) resolve();
          else reject(new Error(`HTTP ${response.statusCode}`));
        });
      });
      sent.once("error", reject);
      sent.end(JSON.stringify({ topic, key: keyOf(n), payload: payloadOf(n) }));
    });
  return { publish: post, close: async () => agent.destroy() };
}

export const bareHttp = posting("bare HTTP", "not kept", async () => ({
  url: `http://127.0.0.1:${(await echoProcess.get()).port}`,
}));

export const hubHttp = posting("hub over HTTP", "synced to disk", async () => ({
  url: await hubUrl(),
  token: TOKEN,
}));
