/**
 * As much of the NATS protocol as the benchmark needs, with nothing between the socket and the counter: publishes with a
 * numbered reply inbox, requests, subscriptions. What a client library could reach at best.
 */
import { Wire } from "./wire.js";

type Listener = (payload: Buffer, reply: string, subject: string) => void;

const CRLF = 2;

export class NatsWire {
  readonly #inbox = `_INBOX.${process.pid}${Math.random().toString(36).slice(2)}`;
  readonly #waiting = new Map<string, (payload: Buffer) => void>();
  readonly #listeners = new Map<string, Listener>();
  readonly #pongs: (() => void)[] = [];
  #wire: Wire | undefined;
  #asked = 0;
  #subscriptions = 1;

  static async open(port: number): Promise<NatsWire> {
    const nats = new NatsWire();
    nats.#wire = await Wire.open(port, (bytes) => nats.#read(bytes));
    nats.#write('CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\n');
    nats.#write(`SUB ${nats.#inbox}.* 1\r\n`);
    nats.#listeners.set("1", (payload, _reply, subject) => nats.#answered(subject, payload));
    await nats.flush();
    return nats;
  }

  publish(subject: string, text: string, reply = ""): void {
    this.#write(`PUB ${subject} ${reply} ${Buffer.byteLength(text)}\r\n${text}\r\n`);
  }

  request(subject: string, text: string): Promise<Buffer> {
    return new Promise((resolve) => {
      const reply = `${this.#inbox}.${++this.#asked}`;
      this.#waiting.set(reply, resolve);
      this.publish(subject, text, reply);
    });
  }

  /** A request of JetStream's own interface; throws what it complains of. */
  async ask(subject: string, body: unknown): Promise<void> {
    const answer = JSON.parse(
      (await this.request(`$JS.API.${subject}`, JSON.stringify(body))).toString(),
    ) as {
      readonly error?: { readonly description: string };
    };
    if (answer.error !== undefined) throw new Error(`${subject}: ${answer.error.description}`);
  }

  subscribe(subject: string, listener: Listener): void {
    const sid = String(++this.#subscriptions);
    this.#listeners.set(sid, listener);
    this.#write(`SUB ${subject} ${sid}\r\n`);
  }

  /** Resolves when the server has read everything that was sent. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      this.#pongs.push(resolve);
      this.#write("PING\r\n");
    });
  }

  close(): void {
    this.#wire?.close();
  }

  #write(text: string): void {
    this.#wire?.write(text);
  }

  #answered(subject: string, payload: Buffer): void {
    const answer = this.#waiting.get(subject);
    this.#waiting.delete(subject);
    answer?.(payload);
  }

  #read(bytes: Buffer): number {
    let at = 0;
    for (;;) {
      const end = bytes.indexOf("\r\n", at);
      if (end < 0) return at;
      const words = bytes.toString("latin1", at, end).split(" ");
      const [verb = "", subject = "", sid = ""] = words;
      const body = end + CRLF;
      if (verb === "MSG" || verb === "HMSG") {
        const size = Number(words.at(-1));
        if (bytes.length < body + size + CRLF) return at;
        const reply = words.length > (verb === "MSG" ? 4 : 5) ? (words[3] ?? "") : "";
        this.#listeners.get(sid)?.(bytes.subarray(body, body + size), reply, subject);
        at = body + size + CRLF;
        continue;
      }
      if (verb === "PING") this.#write("PONG\r\n");
      else if (verb === "PONG") this.#pongs.shift()?.();
      else if (verb === "-ERR") throw new Error(`nats-server: ${words.slice(1).join(" ")}`);
      at = body;
    }
  }
}
