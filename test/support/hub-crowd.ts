/**
 * Many WebSocket consumers on one hub, each a group of its own, some of which stop reading: the hub's memory stays bounded,
 * those who do not read are cut off, and the others get everything, in time.
 */
import { WebSocket } from "ws";
import type { EventRecord } from "../../src/model/event.js";
import type { HubProcessLine, HubProcessOptions } from "./hub-process.js";
import { ToldProcess } from "./told-process.js";

export interface CrowdOptions {
  /** hub-process, compiled. */
  readonly program: string;
  readonly consumers: number;
  readonly stalled: number;
  /** Events to each consumer. */
  readonly events: number;
}

export interface CrowdRun {
  readonly delivered: number;
  readonly expected: number;
  /** From publish to arrival, at those who read. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Resident memory of the hub, in MiB: with everybody there, and at its highest after. */
  readonly connectedMiB: number;
  readonly peakMiB: number;
  /** Close codes of those who did not read. */
  readonly cutOff: Readonly<Record<string, number>>;
}

const HEADERS = { authorization: "Bearer t", "content-type": "application/json" };
const BUFFER_BYTES = 262_144;
const SLOW_MS = 3_000;
/** More than the sockets between hub and client hold by themselves. */
const HEAVY_EVENTS = 120;
const HEAVY_BYTES = 200_000;
const DIALS_AT_ONCE = 50;

export async function runHubCrowd(options: CrowdOptions): Promise<CrowdRun> {
  const { consumers, stalled, events } = options;
  const limits = { maxSendBufferBytes: BUFFER_BYTES, slowConsumerMs: SLOW_MS };
  const hub = await startHub(options.program, { limits, partitions: 1, drainMs: 100 });
  const latencies: number[] = [];
  const crowd: Consumer[] = [];
  for (let i = 0; i < consumers; i += DIALS_AT_ONCE) {
    const some = Array.from({ length: Math.min(DIALS_AT_ONCE, consumers - i) }, (_, n) => {
      const consumer = new Consumer(hub.url, i + n, latencies);
      crowd.push(consumer);
      return consumer.ready;
    });
    await Promise.all(some);
  }
  const connectedMiB = await residentMiB(hub.url);
  const slow = crowd.slice(0, stalled);
  for (const consumer of slow) await consumer.stall();
  const memory = watch(hub.url);
  await publishAll(hub.url, "heavy", Array(HEAVY_EVENTS).fill("x".repeat(HEAVY_BYTES)), 4);
  const light = Array.from({ length: events }, (_, n) => n);
  await publishAll(hub.url, "light", light, 1);
  const quick = crowd.slice(stalled);
  await until(
    () => quick.every((consumer) => consumer.seen.size >= events),
    "everybody who reads has everything",
  );
  await until(async () => (await connections(hub.url)) <= quick.length + slow.length, "the hub counts");
  await until(() => memory.elapsedMs > SLOW_MS + 2_000, "time to cut off those who do not read");
  const cutOff = await codes(slow);
  const peakMiB = await memory.stop();
  for (const consumer of crowd) consumer.close();
  await hub.process.leave();
  latencies.sort((a, b) => a - b);
  return {
    delivered: quick.reduce((sum, consumer) => sum + consumer.seen.size, 0),
    expected: quick.length * events,
    p50Ms: latencies[Math.floor(latencies.length * 0.5)] ?? Number.NaN,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
    connectedMiB,
    peakMiB,
    cutOff,
  };
}

/** Acks what it gets; once stalled it reads nothing. */
class Consumer {
  readonly ready: Promise<void>;
  readonly seen = new Set<string>();
  readonly closed: Promise<number>;
  readonly #socket: WebSocket;
  readonly #group: string;

  constructor(url: string, number: number, latencies: number[]) {
    this.#group = `g${number}`;
    this.#socket = new WebSocket(`${url.replace("http", "ws")}/ws`, { headers: HEADERS });
    this.closed = new Promise((resolve) => this.#socket.on("close", resolve));
    this.ready = new Promise((resolve, reject) => {
      this.#socket.on("error", reject);
      this.#socket.on("open", () => this.#subscribe("light"));
      this.#socket.on("message", (data) => {
        for (const frame of [JSON.parse(data.toString()) as Frame].flat()) {
          if (frame.type === "OK") resolve();
          if (frame.type === "EVENT") this.#take(frame.event as EventRecord, latencies);
        }
      });
    });
  }

  async stall(): Promise<void> {
    this.#subscribe("heavy");
    await new Promise((resolve) => this.#socket.once("message", resolve));
    this.#socket.pause();
  }

  /** Reads on, to learn what became of it. */
  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.terminate();
  }

  #subscribe(topic: string): void {
    const opts = { from: "earliest", maxInFlight: 1_000 };
    this.#socket.send(JSON.stringify([{ type: "SUBSCRIBE", topic, group: this.#group, opts, corr: topic }]));
  }

  #take({ id, topic, ts }: EventRecord, latencies: number[]): void {
    if (topic !== "light") return;
    this.seen.add(id);
    latencies.push(Date.now() - ts);
    this.#socket.send(JSON.stringify([{ type: "ACK", topic, group: this.#group, id }]));
  }
}

interface Frame {
  readonly type: string;
  readonly event?: unknown;
}

async function startHub(
  program: string,
  options: HubProcessOptions,
): Promise<{ process: ToldProcess<HubProcessLine>; url: string }> {
  let url = "";
  const process = new ToldProcess<HubProcessLine>(program, [JSON.stringify(options)], (line) => {
    if (line.type === "ready") url = line.url;
  });
  await process.seen("ready", 60_000);
  return { process, url };
}

async function publishAll(
  url: string,
  topic: string,
  payloads: readonly unknown[],
  atOnce: number,
): Promise<void> {
  for (let i = 0; i < payloads.length; i += atOnce) {
    const events = payloads.slice(i, i + atOnce).map((payload) => ({ topic, payload, ts: Date.now() }));
    const response = await fetch(`${url}/publish`, {
      method: "POST",
      headers: HEADERS,
      body: JSON.stringify(events),
    });
    if (response.status !== 200) throw new Error(`publishing: ${response.status} ${await response.text()}`);
    await response.body?.cancel();
  }
}

async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers: HEADERS })).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}

const connections = (url: string): Promise<number> => metric(url, "ws_connections");
const residentMiB = async (url: string): Promise<number> =>
  Math.round((await metric(url, "promethean_process_resident_memory_bytes")) / 1_048_576);

/** The highest that the hub's memory gets, twice a second. */
function watch(url: string): { readonly elapsedMs: number; stop(): Promise<number> } {
  const startMs = performance.now();
  let peak = 0;
  let over = false;
  const watching = (async () => {
    while (!over) {
      peak = Math.max(peak, await residentMiB(url));
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  })();
  return {
    get elapsedMs() {
      return performance.now() - startMs;
    },
    stop: async () => {
      over = true;
      await watching;
      return peak;
    },
  };
}

async function codes(slow: readonly Consumer[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const consumer of slow) consumer.resume();
  for (const consumer of slow) {
    const late = new Promise<string>((resolve) => setTimeout(resolve, 20_000, "open").unref());
    const code = String(await Promise.race([consumer.closed, late]));
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const untilMs = performance.now() + 300_000;
  while (!(await condition())) {
    if (performance.now() > untilMs) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
