/** What a fuzzed hub gets: grown from what is right, by chance from a seed. */
import { seededRandom } from "../../src/model/manual-clock.js";

const WORDS = [
  "orders",
  "dlq.orders",
  "orders.**",
  "k",
  "g",
  "latest",
  "earliest",
  "id:x",
  "seq:1",
  "0",
  "-1",
  "1e99",
  "",
  "..",
  "%",
  "null",
  "__proto__",
  "constructor",
  "$where",
  "a.b",
  "\u0000",
  "\ud800",
  "💥",
  "x".repeat(2_000),
];
const TYPES = [
  "AUTH",
  "PUBLISH",
  "PUBLISH_MANY",
  "SUBSCRIBE",
  "UNSUBSCRIBE",
  "ACK",
  "NACK",
  "MODACK",
  "PAUSE",
  "RESUME",
  "PING",
  "OK",
  "EVENT",
  "EVENTS",
];
const MEMBERS = [
  "topic",
  "group",
  "payload",
  "events",
  "key",
  "id",
  "headers",
  "tags",
  "caused_by",
  "ts",
  "sid",
  "partition",
  "opts",
  "attempt",
  "epoch",
  "reason",
  "extend_ms",
  "corr",
  "token",
  "from",
  "to",
  "filter",
  "dryRun",
  "schema",
  "version",
  "ids",
  "lease",
  "leases",
  "takes",
];
const MEDIA = [
  "application/json",
  "application/x-ndjson",
  "application/cloudevents+json",
  "application/cloudevents-batch+json",
  "text/plain",
  "application/json; charset=utf-16",
  "",
];
const HEADERS = [
  "idempotency-key",
  "traceparent",
  "last-event-id",
  "if-none-match",
  "content-encoding",
  "ce-specversion",
  "ce-id",
  "ce-source",
  "ce-type",
  "origin",
];

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | Buffer;
}

export class FuzzInput {
  readonly #random: () => number;
  readonly #routes: readonly { readonly method: string; readonly path: string }[];

  constructor(seed: number, paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>) {
    this.#random = seededRandom(seed);
    this.#routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
    );
  }

  /** A WebSocket message. */
  message(): string | Buffer {
    if (this.#chance(0.02)) return this.#bytes(64);
    const frames = this.#chance(0.2) ? this.#list(() => this.#frame()) : this.#frame();
    return this.#torn(this.#json(frames));
  }

  request(token: string): FuzzRequest {
    const route = this.#pick(this.#routes);
    const path = route.path.replaceAll(/\{\w+\}/g, () => encoded(this.#word()));
    const query = this.#chance(0.5)
      ? `?${this.#list(() => `${this.#member()}=${encoded(this.#word())}`).join("&")}`
      : "";
    const headers: Record<string, string> = { "content-type": this.#pick(MEDIA) };
    if (!this.#chance(0.03)) headers.authorization = `Bearer ${token}`;
    while (this.#chance(0.2)) headers[this.#pick(HEADERS)] = plain(this.#word());
    const method = this.#chance(0.05)
      ? this.#pick(["PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
      : route.method;
    const body = method === "GET" || method === "HEAD" ? "" : this.#body();
    return { method, path: path + query, headers, body };
  }

  /** What is not HTTP. */
  noise(): Buffer {
    const start = this.#pick([
      "",
      "GET / HTTP/1.1\r\n",
      "POST /publish HTTP/1.1\r\nContent-Length: 9\r\n",
      "GET /ws HTTP/9",
    ]);
    return Buffer.concat([Buffer.from(start), this.#bytes(200)]);
  }

  #body(): string | Buffer {
    if (this.#chance(0.03)) return this.#bytes(200);
    if (this.#chance(0.2)) return this.#list(() => this.#torn(this.#json(this.#event()))).join("\n");
    const value = this.#chance(0.3)
      ? this.#list(() => this.#event())
      : this.#chance(0.3)
        ? this.#object()
        : this.#event();
    return this.#torn(this.#json(value));
  }

  #frame(): unknown {
    if (this.#chance(0.05)) return this.#value(2);
    const type = this.#chance(0.95) ? this.#pick(TYPES) : this.#value(1);
    const usual = this.#chance(0.7)
      ? { topic: "orders", group: "g", payload: this.#value(3), id: this.#word() }
      : {};
    return { type, ...usual, ...this.#object() };
  }

  #event(): unknown {
    const cloud = this.#chance(0.2) ? { specversion: "1.0", source: this.#word(), type: this.#word() } : {};
    return {
      topic: this.#chance(0.7) ? "orders" : this.#value(1),
      payload: this.#value(3),
      ...cloud,
      ...this.#object(),
    };
  }

  #object(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    while (this.#chance(0.75)) object[this.#member()] = this.#chance(0.5) ? this.#word() : this.#value(3);
    return object;
  }

  #value(depth: number): unknown {
    const kind = Math.floor(this.#random() * (depth > 0 ? 9 : 6));
    switch (kind) {
      case 0:
        return null;
      case 1:
        return this.#chance(0.5);
      case 2:
        return this.#pick([0, -1, 1.5, 1e21, -1e-9, 2 ** 53, Number.MAX_VALUE]);
      case 3:
      case 4:
      case 5:
        return this.#word();
      case 6:
        return this.#list(() => this.#value(depth - 1));
      default:
        return Object.fromEntries(
          this.#list(() => [this.#chance(0.5) ? this.#member() : this.#word(), this.#value(depth - 1)]),
        );
    }
  }

  /** Now and then cut, doubled, or with a character changed. */
  #torn(text: string): string {
    if (!this.#chance(0.1)) return text;
    const at = Math.floor(this.#random() * text.length);
    const how = Math.floor(this.#random() * 4);
    if (how === 0) return text.slice(0, at);
    if (how === 1) return text + text.slice(at);
    if (how === 2) return `${"[".repeat(at)}${text}`;
    return text.slice(0, at) + String.fromCharCode(this.#random() * 256) + text.slice(at + 1);
  }

  #json(value: unknown): string {
    return JSON.stringify(value) ?? "";
  }

  #word(): string {
    return this.#chance(0.8) ? this.#pick(WORDS) : this.#bytes(12).toString("latin1");
  }

  #member(): string {
    return this.#pick(MEMBERS);
  }

  #bytes(max: number): Buffer {
    return Buffer.from(
      Array.from({ length: Math.floor(this.#random() * max) }, () => Math.floor(this.#random() * 256)),
    );
  }

  #list<T>(make: () => T): T[] {
    return Array.from({ length: Math.floor(this.#random() * 5) }, make);
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T;
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }
}

function encoded(text: string): string {
  return encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, "?"));
}

/** What a header may hold. */
function plain(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 500);
}
