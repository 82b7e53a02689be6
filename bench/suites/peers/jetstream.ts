/**
 * NATS JetStream with file storage: by its Node client, and by bare reply inboxes. A server answers when it has written
 * to the file; it syncs the file every two minutes unless it is told to at each write, which 2.10 and newer can be.
 */
import { join } from "node:path";
import { keyOf, payloadOf } from "../../events.js";
import { ServerProcess, versionOf } from "../../server-process.js";
import { loadClients } from "./clients.js";
import { NatsWire } from "./nats-wire.js";
import { type Line, once, type System } from "./system.js";

const MOST_IN_FLIGHT = 1_000;
const NOT_SYNCED = "written, synced every 2 minutes";
const SYNCED = "synced to disk";

/** What the benchmark uses of the client. */
interface Client {
  connect(o: { servers: string }): Promise<Connection>;
  jetstream(connection: Connection): JetStream;
}
interface Connection {
  flush(): Promise<void>;
  close(): Promise<void>;
}
interface JetStream {
  publish(subject: string, body: string): Promise<unknown>;
  readonly consumers: { get(stream: string, name: string): Promise<Consumer> };
}
interface Consumer {
  consume(o: {
    max_messages: number;
    callback: (message: { ack(): void }) => void;
  }): Promise<{ stop(): void }>;
}

export function canSync(program: string): boolean {
  const [major = 0, minor = 0] = versionOf(program).split(".").map(Number);
  return major > 2 || (major === 2 && minor >= 10);
}

/** The server and what measures it; with `sync` each write is synced. */
export function jetStream(program: string, sync: boolean): { client?: System; raw: System } {
  const server = once(() => startServer(program, sync));
  const durability = sync ? SYNCED : NOT_SYNCED;
  const close = async (): Promise<void> => (await server.made())?.stop();
  const client = loadClient();
  return {
    raw: {
      name: sync ? "JetStream synced, bare inbox" : "JetStream, bare inbox",
      durability,
      open: async () => rawLine((await server.get()).port),
      close,
    },
    ...(client !== undefined && {
      client: {
        name: sync ? "JetStream synced, its client" : "JetStream, its client",
        durability,
        open: async () => clientLine(client, (await server.get()).port),
        close,
      },
    }),
  };
}

function startServer(program: string, sync: boolean): Promise<ServerProcess> {
  return ServerProcess.start("/bin/sh", (port, dir) => {
    const always = sync ? "sync_interval: always" : "";
    const config = `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${dir}" ${always} }\n`;
    const path = join(dir, "server.conf");
    return ["-c", 'printf %s "$1" > "$2"; exec "$3" -c "$2"', "nats", config, path, program];
  });
}

let streams = 0;

/** A stream of its own with a durable consumer; removed by the line's close. */
async function makeStream(nats: NatsWire): Promise<{ stream: string; subject: string }> {
  const stream = `S${++streams}`;
  const subject = `bench.${stream}`;
  await nats.ask(`STREAM.CREATE.${stream}`, {
    name: stream,
    subjects: [subject],
    storage: "file",
    retention: "limits",
    num_replicas: 1,
  });
  return { stream, subject };
}

async function makeConsumer(
  nats: NatsWire,
  stream: string,
  from: "earliest" | "latest",
  name: string,
): Promise<void> {
  await nats.ask(`CONSUMER.DURABLE.CREATE.${stream}.${name}`, {
    stream_name: stream,
    config: {
      durable_name: name,
      ack_policy: "explicit",
      deliver_policy: from === "earliest" ? "all" : "new",
      max_ack_pending: MOST_IN_FLIGHT * 4,
    },
  });
}

function bodyOf(n: number): string {
  return `{"key":"${keyOf(n)}","payload":${JSON.stringify(payloadOf(n))}}`;
}

async function rawLine(port: number): Promise<Line> {
  const nats = await NatsWire.open(port);
  const { stream, subject } = await makeStream(nats);
  return {
    publish: (n) => nats.request(subject, bodyOf(n)),
    consume: async (onEvent, from, group) => {
      await makeConsumer(nats, stream, from, group);
      pull(nats, stream, group, onEvent);
      return { settled: () => nats.flush() };
    },
    close: async () => {
      await nats.ask(`STREAM.DELETE.${stream}`, {});
      nats.close();
    },
  };
}

/** Asks for more as soon as half of what was asked for has come. */
function pull(nats: NatsWire, stream: string, name: string, onEvent: () => void): void {
  const inbox = `pulled.${stream}.${name}`;
  const ask = (batch: number): void =>
    nats.publish(
      `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`,
      JSON.stringify({ batch, expires: 60e9 }),
      inbox,
    );
  let owed = MOST_IN_FLIGHT;
  nats.subscribe(inbox, (payload, reply) => {
    if (reply === "") return;
    const { payload: read } = JSON.parse(payload.toString()) as { payload: unknown };
    if (read !== undefined) onEvent();
    nats.publish(reply, "+ACK");
    if (--owed > MOST_IN_FLIGHT / 2) return;
    ask(MOST_IN_FLIGHT / 2);
    owed += MOST_IN_FLIGHT / 2;
  });
  ask(MOST_IN_FLIGHT);
}

async function clientLine({ connect, jetstream }: Client, port: number): Promise<Line> {
  const nats = await NatsWire.open(port);
  const { stream, subject } = await makeStream(nats);
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  const js = jetstream(connection);
  return {
    publish: (n) => js.publish(subject, bodyOf(n)),
    consume: async (onEvent, from, group) => {
      await makeConsumer(nats, stream, from, group);
      const consumer = await js.consumers.get(stream, group);
      const messages = await consumer.consume({
        max_messages: MOST_IN_FLIGHT,
        callback: (message: { ack(): void; json?(): unknown }) => {
          message.json?.();
          onEvent();
          message.ack();
        },
      });
      return {
        settled: async () => {
          await connection.flush();
          messages.stop();
        },
      };
    },
    close: async () => {
      await connection.close();
      await nats.ask(`STREAM.DELETE.${stream}`, {});
      nats.close();
    },
  };
}

/** Undefined if it is not installed. */
function loadClient(): Client | undefined {
  const loaded = loadClients<{
    transport: Pick<Client, "connect">;
    streams: Pick<Client, "jetstream">;
  }>({ transport: "@nats-io/transport-node", streams: "@nats-io/jetstream" });
  return loaded && { connect: loaded.transport.connect, jetstream: loaded.streams.jetstream };
}
