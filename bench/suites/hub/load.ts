/** Clients that cost little, so that what is measured is the server: over WebSocket, and over plain HTTP connections. */
import { connect, type Socket } from "node:net";
import { WebSocket } from "ws";

export const TOKEN = "bench-token";
export const TOPIC = "bench";
const KEYS = 1_000;

/** About 200 bytes, as a JSON text. */
export function payloadText(n: number): string {
  return `{"order":${n},"customer":"customer-${n % KEYS}","items":[{"sku":"sku-${n % 97}","count":${n % 7}},{"sku":"sku-${n % 89}","count":1}],"note":"deliver to the back door, ring twice","total":${n % 10_000}.5}`;
}

/** An event as it stands in a frame. */
export function eventText(n: number): string {
  return `{"id":"0190f0f0-0000-7000-8000-${String(n).padStart(12, "0")}","topic":"${TOPIC}","partition":0,"seq":${n},"ts":1767225600000,"key":"k${n % KEYS}","payload":${payloadText(n)}}`;
}

export function publishText(n: number, topic: string): string {
  return `{"type":"PUBLISH","topic":"${topic}","key":"k${n % KEYS}","payload":${payloadText(n)},"corr":${n}}`;
}

export function dial(port: number, path: string): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
    perMessageDeflate: false,
  });
  return new Promise((resolve, reject) => socket.once("open", () => resolve(socket)).once("error", reject));
}

interface Frame {
  readonly type: string;
  readonly code?: string;
  readonly msg?: string;
  readonly event?: { readonly id: string; readonly ts: number; readonly payload: unknown };
  readonly ctx?: { readonly attempt: number; readonly epoch: number };
}

export function framesOf(data: unknown): Frame[] {
  const message = JSON.parse(String(data)) as Frame | Frame[];
  const frames = Array.isArray(message) ? message : [message];
  const bad = frames.find((frame) => frame.type === "ERR");
  if (bad !== undefined) throw new Error(`${bad.code}: ${bad.msg}`);
  return frames;
}

/** Publishes `events` with `window` under way; as many new ones go out in one message as answers came in one. */
export async function publishOverWs(
  socket: WebSocket,
  topic: string,
  events: number,
  window: number,
): Promise<void> {
  let sent = 0;
  let answered = 0;
  const send = (count: number): void => {
    const frames: string[] = [];
    for (let i = 0; i < count && sent < events; i++) frames.push(publishText(++sent, topic));
    if (frames.length > 0) socket.send(`[${frames.join(",")}]`);
  };
  await new Promise<void>((resolve, reject) => {
    socket.on("message", (data) => {
      try {
        const frames = framesOf(data);
        answered += frames.length;
        if (answered >= events) resolve();
        else send(frames.length);
      } catch (error) {
        reject(error as Error);
      }
    });
    send(window);
  });
  socket.removeAllListeners("message");
}

/** Takes and acks `events`, each message's in one message. */
export async function consumeOverWs(
  socket: WebSocket,
  start: object,
  events: number,
  settle: (frame: Frame) => string,
): Promise<void> {
  let taken = 0;
  await new Promise<void>((resolve, reject) => {
    socket.on("message", (data) => {
      try {
        const delivered = framesOf(data).filter((frame) => frame.type === "EVENT");
        if (delivered.length === 0) return;
        taken += delivered.length;
        socket.send(`[${delivered.map(settle).join(",")}]`);
        if (taken >= events) resolve();
      } catch (error) {
        reject(error as Error);
      }
    });
    socket.send(JSON.stringify(start));
  });
  socket.removeAllListeners("message");
}

/** Sends `requests` bodies over `connections` plain connections, each with one request under way. */
export async function postAll(
  port: number,
  o: { connections: number; requests: number; body: (n: number) => string },
): Promise<void> {
  let sent = 0;
  const one = async (): Promise<void> => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    const answers = new Answers(socket);
    while (sent < o.requests) {
      const body = o.body(++sent);
      socket.write(
        `POST /publish HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      await answers.next();
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: o.connections }, one));
}

/** Reads answers off a connection: status line, Content-Length, and past the body. */
class Answers {
  #text = "";
  #wake: (() => void) | null = null;
  #failed: Error | null = null;

  constructor(socket: Socket) {
    socket.setEncoding("latin1");
    socket.on("data", (part: string) => {
      this.#text += part;
      this.#wake?.();
    });
    socket.on("close", () => {
      this.#failed = new Error("the connection was closed");
      this.#wake?.();
    });
  }

  async next(): Promise<void> {
    while (!this.#take()) {
      if (this.#failed !== null) throw this.#failed;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #take(): boolean {
    const head = this.#text.indexOf("\r\n\r\n");
    if (head < 0) return false;
    const length = Number(/content-length: (\d+)/i.exec(this.#text.slice(0, head))?.[1]);
    if (Number.isNaN(length) || !this.#text.startsWith("HTTP/1.1 200"))
      throw new Error(`unexpected answer: ${this.#text.slice(0, 300)}`);
    if (this.#text.length < head + 4 + length) return false;
    this.#text = this.#text.slice(head + 4 + length);
    return true;
  }
}

/** One a millisecond, on average: those that are due go out one by one. */
export async function paced(events: number, send: (n: number) => void): Promise<void> {
  const startMs = performance.now();
  for (let n = 0; n < events; ) {
    while (n < events && n <= performance.now() - startMs) send(n++);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

export function quantiles(figures: number[], shares: readonly number[]): number[] {
  figures.sort((a, b) => a - b);
  return shares.map((share) => figures[Math.floor(figures.length * share)] ?? Number.NaN);
}
