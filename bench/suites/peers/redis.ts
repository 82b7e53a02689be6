/** Redis Streams with an append-only file, synced before each answer or every second; by a bare pipeline, or by a client. */
import { keyOf, payloadOf } from "../../events.js";
import { ServerProcess } from "../../server-process.js";
import type { OpenRedis } from "./redis-client.js";
import { type Answer, RedisWire } from "./redis-wire.js";
import { type Line, once, type System } from "./system.js";

const PAGE = "1000";

export function redis(
  program: string,
  sync: "always" | "everysec",
  by: { readonly name: string; readonly open: OpenRedis } = { name: "bare pipeline", open: line },
): System {
  const server = once(() =>
    ServerProcess.start(program, (port, dir) => [
      ...["--port", String(port), "--bind", "127.0.0.1", "--dir", dir],
      ...["--save", "", "--appendonly", "yes", "--appendfsync", sync],
    ]),
  );
  return {
    name: `Redis Streams ${sync}, ${by.name}`,
    durability: sync === "always" ? "synced to disk" : "in memory, synced every second",
    open: async () => by.open((await server.get()).port),
    close: async () => (await server.made())?.stop(),
  };
}

let streams = 0;

async function line(port: number): Promise<Line> {
  const redis = await RedisWire.open(port);
  const stream = `bench:${++streams}`;
  let readers: Reader[] = [];
  return {
    publish: (n) => redis.send("XADD", stream, "*", "key", keyOf(n), "payload", JSON.stringify(payloadOf(n))),
    consume: async (onEvent, from, group) => {
      await redis.send("XGROUP", "CREATE", stream, group, from === "earliest" ? "0" : "$", "MKSTREAM");
      const reader = await Reader.open(port, redis, stream, group, onEvent);
      readers.push(reader);
      return { settled: () => reader.acked() };
    },
    close: async () => {
      await Promise.all(readers.map((reader) => reader.close()));
      readers = [];
      await redis.send("DEL", stream);
      redis.close();
    },
  };
}

/** On a connection of its own: what blocks for new events holds up every other command. */
class Reader {
  readonly #redis: RedisWire;
  readonly #own: RedisWire;
  readonly #stream: string;
  readonly #group: string;
  readonly #onEvent: () => void;
  #reading: Promise<void> = Promise.resolve();
  #acks: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(redis: RedisWire, own: RedisWire, stream: string, group: string, onEvent: () => void) {
    this.#redis = redis;
    this.#own = own;
    this.#stream = stream;
    this.#group = group;
    this.#onEvent = onEvent;
  }

  static async open(
    port: number,
    redis: RedisWire,
    stream: string,
    group: string,
    onEvent: () => void,
  ): Promise<Reader> {
    const reader = new Reader(redis, await RedisWire.open(port), stream, group, onEvent);
    reader.#reading = reader.#read();
    return reader;
  }

  async acked(): Promise<void> {
    // The page that the last event came with is acked when all of it was handed on.
    await null;
    await this.#acks;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#own.close();
    await this.#reading;
  }

  async #read(): Promise<void> {
    while (!this.#closed) {
      const words = ["COUNT", PAGE, "BLOCK", "1000", "STREAMS", this.#stream, ">"];
      const answer = await this.#own.send("XREADGROUP", "GROUP", this.#group, "one", ...words);
      if (answer === null) continue;
      const [[, entries]] = answer as readonly [readonly [string, readonly Answer[]]];
      const ids: string[] = [];
      for (const [id, fields] of entries as readonly [string, readonly string[]][]) {
        JSON.parse(fields[3] ?? "null");
        ids.push(id);
        this.#onEvent();
      }
      this.#acks = this.#redis.send("XACK", this.#stream, this.#group, ...ids);
    }
  }
}
