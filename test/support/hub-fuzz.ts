/**
 * Sends a hub what no client would: frames and requests that are nearly right, torn, swapped, nested or noise. All chance
 * comes from the seed. The hub must not crash, must not answer 500 or INTERNAL, and must not grow without bound.
 */
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { WebSocket } from "ws";
import { createBus } from "../../src/bus/create-bus.js";
import { startHub } from "../../src/hub/server.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { FuzzInput } from "./hub-fuzz-input.js";

export interface FuzzOptions {
  readonly count: number;
  readonly seed: number;
}

export interface FuzzRun {
  readonly frames: number;
  readonly requests: number;
  /** Inputs that made the hub fail, and what it said. */
  readonly failures: readonly string[];
  readonly statuses: Readonly<Record<string, number>>;
  readonly codes: Readonly<Record<string, number>>;
  readonly heapGrowthMiB: number;
}

const SOCKETS = 8;
const PARALLEL = 16;
const TOKEN = "t";
const TRIM_EVERY = 2_000;

export async function runHubFuzz({ count, seed }: FuzzOptions): Promise<FuzzRun> {
  const bus = await createBus({ store: memoryStore(), onTrouble: () => undefined, publishTimeoutMs: 1_000 });
  const limits = { maxBodyBytes: 65_536, maxLineBytes: 16_384 };
  const hub = await startHub({
    bus,
    auth: { tokens: { [TOKEN]: { scopes: ["*:*"] } } },
    limits,
    drainMs: 100,
  });
  await bus.publish("orders", { n: 1 }, { key: "k" });
  const failures: string[] = [];
  const crash = (error: unknown): void =>
    void failures.push(`uncaught: ${String((error as Error)?.stack ?? error)}`);
  process.on("uncaughtException", crash).on("unhandledRejection", crash);
  const document = (await (await fetch(`${hub.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const input = new FuzzInput(seed, document.paths);
  const heap = heapMiB();
  const wires = new Wires(hub.url, failures);
  const calls = new Calls(hub.port, failures);
  for (let sent = 0; sent < count; sent += PARALLEL) {
    const batch = Array.from({ length: Math.min(PARALLEL, count - sent) }, (_, i) =>
      i % 2 === 0 ? wires.send(input.message()) : calls.send(input),
    );
    await Promise.all(batch);
    if (sent % TRIM_EVERY === 0) await trimAll(bus);
  }
  await wires.settle();
  const after = heapMiB();
  await stillWorks(hub.url, failures);
  await wires.close();
  calls.close();
  await hub.close();
  await bus.close();
  process.off("uncaughtException", crash).off("unhandledRejection", crash);
  return {
    frames: wires.sent,
    requests: calls.sent,
    failures,
    statuses: calls.statuses,
    codes: wires.codes,
    heapGrowthMiB: Math.round((after - heap) * 10) / 10,
  };
}

/** Sockets that are opened again when the hub closes them. */
class Wires {
  readonly codes: Record<string, number> = {};
  sent = 0;
  readonly #url: string;
  readonly #failures: string[];
  readonly #open: (WebSocket | undefined)[] = new Array<WebSocket | undefined>(SOCKETS).fill(undefined);

  constructor(url: string, failures: string[]) {
    this.#url = url;
    this.#failures = failures;
  }

  async send(message: string | Buffer): Promise<void> {
    const at = this.sent++ % SOCKETS;
    let socket = this.#open[at];
    if (socket?.readyState !== WebSocket.OPEN) {
      socket = await this.#dial(message);
      this.#open[at] = socket;
    }
    await new Promise<void>((resolve) => socket.send(message, () => resolve()));
  }

  /** Whatever is on its way is answered before this is. */
  async settle(): Promise<void> {
    await Promise.all(
      this.#open.map(async (socket) => {
        if (socket?.readyState !== WebSocket.OPEN) return;
        socket.send('{"type":"PING","corr":"end"}');
        await new Promise<void>((resolve) => {
          socket.on("close", () => resolve());
          socket.on("message", (data) => data.toString().includes('"end"') && resolve());
        });
      }),
    );
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket?.terminate();
  }

  async #dial(last: string | Buffer): Promise<WebSocket> {
    const socket = new WebSocket(`${this.#url.replace("http", "ws")}/ws`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    socket.on("message", (data) => this.#heard(data.toString(), last));
    socket.on("close", (code) => this.#count(String(code)));
    socket.on("error", () => undefined);
    await new Promise((resolve) => socket.once("open", resolve).once("close", resolve));
    return socket;
  }

  #heard(text: string, last: string | Buffer): void {
    for (const frame of [JSON.parse(text) as { type: string; code?: string }].flat()) {
      this.#count(frame.code ?? frame.type);
      if (frame.code === "INTERNAL") this.#failures.push(`INTERNAL near ${String(last).slice(0, 300)}`);
    }
  }

  #count(code: string): void {
    this.codes[code] = (this.codes[code] ?? 0) + 1;
  }
}

class Calls {
  readonly statuses: Record<string, number> = {};
  sent = 0;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: PARALLEL });
  readonly #port: number;
  readonly #failures: string[];

  constructor(port: number, failures: string[]) {
    this.#port = port;
    this.#failures = failures;
  }

  send(input: FuzzInput): Promise<void> {
    this.sent++;
    return this.sent % 100 === 0 ? this.#noise(input.noise()) : this.#request(input);
  }

  close(): void {
    this.#agent.destroy();
  }

  #request(input: FuzzInput): Promise<void> {
    const { method, path, headers, body } = input.request(TOKEN);
    return new Promise((resolve) => {
      const sending = request({
        host: "127.0.0.1",
        port: this.#port,
        agent: this.#agent,
        method,
        path,
        headers,
      });
      sending.on("error", () => this.#done("reset", resolve));
      sending.on("response", (response) => {
        const { statusCode = 0 } = response;
        if (statusCode === 500)
          this.#failures.push(`500: ${method} ${path} ${JSON.stringify(headers)} ${body}`);
        this.#done(String(statusCode), resolve);
        // Streams go on for ever: their head is enough.
        if (response.headers["content-type"]?.startsWith("text/event-stream")) response.destroy();
        else response.resume();
      });
      sending.end(body);
    });
  }

  /** Bytes that are no HTTP at all. */
  #noise(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect(this.#port, "127.0.0.1", () => socket.end(bytes));
      socket.on("error", () => undefined).on("data", () => undefined);
      socket.on("close", () => this.#done("noise", resolve));
    });
  }

  #done(status: string, resolve: () => void): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    resolve();
  }
}

/** What the fuzzing itself published is not what grows without bound. */
async function trimAll(bus: Awaited<ReturnType<typeof createBus>>): Promise<void> {
  for (const { name } of await bus.topics())
    for (const { partition, head } of await bus.store.log.heads(name))
      if (head > 0) await bus.store.log.trim(name, partition, head - 1);
}

async function stillWorks(url: string, failures: string[]): Promise<void> {
  const response = await fetch(`${url}/publish`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ topic: "orders", payload: { n: 2 }, id: "the-last-one" }),
  });
  if (response.status !== 200) failures.push(`a good publish at the end: ${response.status}`);
  const found = await fetch(`${url}/events/the-last-one`, { headers: { authorization: `Bearer ${TOKEN}` } });
  if (found.status !== 200) failures.push(`the good event at the end: ${found.status}`);
}

function heapMiB(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1_048_576;
}
