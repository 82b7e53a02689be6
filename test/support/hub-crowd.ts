/**
 * Many WebSocket consumers on one hub, each a group of its own, some of which stop reading: the hub's memory stays bounded,
 * those who do not read are cut off, and the others get everything, as soon as without them.
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
  /** Events to each consumer: as many while everybody reads, and as many while some do not. */
  readonly events: number;
  /** From one event to the next. */
  readonly paceMs: number;
}

/** From publish to arrival, at those who read on. */
export interface Latency {
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface CrowdRun {
  readonly delivered: number;
  readonly expected: number;
  readonly whileAllRead: Latency;
  readonly whileSomeStall: Latency;
  /** Resident memory of the hub, in MiB: with everybody there, and at its highest after. */
  readonly connectedMiB: number;
  readonly peakMiB: number;
  /** Close codes of those who stopped reading: half of them read on when they were cut off, the others much later. */
  readonly readOn: Readonly<Record<string, number>>;
  readonly readNever: Readonly<Record<string, number>>;
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
  const crowd = await gather(hub.url, consumers);
  const [slow, quick] = [crowd.slice(0, stalled), crowd.slice(stalled)];
  const connectedMiB = await residentMiB(hub.url);
  const memory = watch(hub.url);
  const whileAllRead = await measure(hub.url, quick, options);
  for (const consumer of slow) await consumer.stall();
  await publishAll(hub.url, Array<string>(HEAVY_EVENTS).fill("x".repeat(HEAVY_BYTES)));
  const whileSomeStall = await measure(hub.url, quick, options);
  await until(async () => (await metric(hub.url, "ws_slow_consumers_total")) === stalled, "all are cut off");
  const readOn = await codes(slow.filter((_, i) => i % 2 === 0));
  await until(async () => (await metric(hub.url, "ws_connections")) <= quick.length, "their lines are cut");
  const readNever = await codes(slow.filter((_, i) => i % 2 === 1));
  const peakMiB = await memory.stop();
  for (const consumer of crowd) consumer.close();
  await hub.process.leave();
  const delivered = quick.reduce((sum, consumer) => sum + consumer.seen.size, 0);
  const expected = quick.length * events * 2;
  return {
    delivered,
    expected,
    whileAllRead,
    whileSomeStall,
    connectedMiB,
    peakMiB,
    readOn,
    readNever,
  };
}

async function gather(url: string, count: number): Promise<Consumer[]> {
  const crowd: Consumer[] = [];
  while (crowd.length < count) {
    const some = Array.from(
      { length: Math.min(DIALS_AT_ONCE, count - crowd.length) },
      (_, n) => new Consumer(url, crowd.length + n),
    );
    await Promise.all(some.map(({ ready }) => ready));
    crowd.push(...some);
  }
  return crowd;
}

/** Publishes events one by one, and waits until everybody who reads has them all. */
async function measure(
  url: string,
  quick: readonly Consumer[],
  { events, paceMs }: CrowdOptions,
): Promise<Latency> {
  const wanted = (quick[0]?.seen.size ?? 0) + events;
  for (const { latencies } of quick) latencies.length = 0;
  for (let n = 0; n < events; n++) {
    await publish(url, [{ topic: "light", payload: n, ts: Date.now() }]);
    await new Promise((resolve) => setTimeout(resolve, paceMs));
  }
  await until(() => quick.every(({ seen }) => seen.size >= wanted), "everybody who reads has everything");
  const sorted = quick.flatMap(({ latencies }) => latencies).sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { p50Ms: at(0.5), p90Ms: at(0.9), p99Ms: at(0.99), maxMs: at(1) };
}

/** Acks what it gets; once stalled it reads nothing. */
class Consumer {
  readonly ready: Promise<void>;
  readonly seen = new Set<string>();
  readonly latencies: number[] = [];
  readonly closed: Promise<number>;
  readonly #socket: WebSocket;
  readonly #group: string;

  constructor(url: string, number: number) {
    this.#group = `g${number}`;
    this.#socket = new WebSocket(`${url.replace("http", "ws")}/ws`, { headers: HEADERS });
    this.closed = new Promise((resolve) => this.#socket.on("close", resolve));
    this.ready = new Promise((resolve, reject) => {
      this.#socket.on("error", reject);
      this.#socket.on("open", () => this.#subscribe("light"));
      this.#socket.on("message", (data) => {
        for (const frame of [JSON.parse(data.toString()) as Frame].flat()) {
          if (frame.type === "OK") resolve();
          if (frame.type === "EVENT") this.#take(frame.event as EventRecord);
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

  #take({ id, topic, ts }: EventRecord): void {
    if (topic !== "light") return;
    this.seen.add(id);
    this.latencies.push(Date.now() - ts);
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

async function publishAll(url: string, payloads: readonly string[]): Promise<void> {
  for (let i = 0; i < payloads.length; i += 4)
    await publish(
      url,
      payloads.slice(i, i + 4).map((payload) => ({ topic: "heavy", payload })),
    );
}

async function publish(url: string, events: readonly object[]): Promise<void> {
  const init = { method: "POST", headers: HEADERS, body: JSON.stringify(events) };
  const response = await fetch(`${url}/publish`, init);
  if (response.status !== 200) throw new Error(`publishing: ${response.status} ${await response.text()}`);
  await response.body?.cancel();
}

async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers: HEADERS })).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}

const residentMiB = async (url: string): Promise<number> =>
  Math.round((await metric(url, "promethean_process_resident_memory_bytes")) / 1_048_576);

/** The highest that the hub's memory gets, looked at every other second: with a thousand groups a look is work as well. */
function watch(url: string): { stop(): Promise<number> } {
  let peak = 0;
  let over = false;
  const watching = (async () => {
    while (!over) {
      peak = Math.max(peak, await residentMiB(url));
      await new Promise((resolve) => setTimeout(resolve, 2_000));
    }
  })();
  return {
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
