/** Redis Streams by Redis' own Node client, which sends what was asked of it in one turn as one pipeline. */
import { keyOf, payloadOf } from "../../events.js";
import { loadClients } from "./clients.js";
import type { Line } from "./system.js";

const PAGE = 1_000;

/** What the benchmark uses of the client. */
interface Client {
  connect(): Promise<unknown>;
  close(): Promise<void>;
  destroy(): void;
  del(key: string): Promise<unknown>;
  xAdd(stream: string, id: string, fields: Readonly<Record<string, string>>): Promise<unknown>;
  xGroupCreate(stream: string, group: string, id: string, o: { MKSTREAM: boolean }): Promise<unknown>;
  xReadGroup(
    group: string,
    consumer: string,
    from: { key: string; id: string },
    o: { COUNT: number; BLOCK: number },
  ): Promise<readonly { readonly messages: readonly Message[] }[] | null>;
  xAck(stream: string, group: string, ids: readonly string[]): Promise<unknown>;
}
interface Message {
  readonly id: string;
  readonly message: Readonly<Record<string, string>>;
}
type Library = { createClient(o: { url: string; RESP: 2 }): Client };

export type OpenRedis = (port: number) => Promise<Line>;

/** Undefined if it is not installed. */
export function redisClient(): OpenRedis | undefined {
  const loaded = loadClients<{ library: Library }>({ library: "@redis/client" });
  return loaded && ((port) => line(() => connected(loaded.library, port)));
}

async function connected({ createClient }: Library, port: number): Promise<Client> {
  const client = createClient({ url: `redis://127.0.0.1:${port}`, RESP: 2 });
  await client.connect();
  return client;
}

let streams = 0;

async function line(connect: () => Promise<Client>): Promise<Line> {
  const client = await connect();
  const stream = `bench:client:${++streams}`;
  const readers = new Set<Client>();
  return {
    publish: (n) => client.xAdd(stream, "*", { key: keyOf(n), payload: JSON.stringify(payloadOf(n)) }),
    consume: async (onEvent, from, group) => {
      await client.xGroupCreate(stream, group, from === "earliest" ? "0" : "$", { MKSTREAM: true });
      const reader = await connect();
      readers.add(reader);
      let acked: Promise<unknown> = Promise.resolve();
      const reading = pages(reader, stream, group, (messages) => {
        for (const { message } of messages) {
          JSON.parse(message.payload ?? "null");
          onEvent();
        }
        acked = client.xAck(
          stream,
          group,
          messages.map(({ id }) => id),
        );
      });
      // It ends when its connection is destroyed, and then has nothing to say.
      reading.catch(() => undefined);
      return {
        settled: async () => {
          await null;
          await acked;
          reader.destroy();
          readers.delete(reader);
        },
      };
    },
    close: async () => {
      for (const reader of readers) reader.destroy();
      await client.del(stream);
      await client.close();
    },
  };
}

/** On a connection of its own: what blocks for new events holds up every other command. */
async function pages(
  reader: Client,
  stream: string,
  group: string,
  onPage: (messages: readonly Message[]) => void,
): Promise<never> {
  for (;;) {
    const from = { key: stream, id: ">" };
    const answer = await reader.xReadGroup(group, "one", from, { COUNT: PAGE, BLOCK: 1_000 });
    const messages = answer?.[0]?.messages ?? [];
    if (messages.length > 0) onPage(messages);
  }
}
