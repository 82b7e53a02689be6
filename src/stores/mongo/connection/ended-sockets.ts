/**
 * Frees commands that the driver would let wait for ever.
 *
 * When a server ends an idle connection, the socket is closed inside Node one turn of the event loop before it says so. A
 * command that the driver begins on it in that turn writes into nothing and then waits for "drain", which a closed socket
 * never sends; no timeout of the driver covers that wait (mongodb 7.8). After a failover, that is a call in every few. Here
 * such sockets are looked for and made to say what they are: the command fails as on any lost connection, and is
 * retried as usual.
 *
 * The driver's pools are internal to it. If a later release keeps them elsewhere, nothing is found here and nothing is done.
 */
import type { EventEmitter } from "node:events";
import { type MongoClient, MongoNetworkError } from "mongodb";

interface InUse {
  readonly closed?: boolean;
  readonly error?: Error | null;
  readonly socket?: EventEmitter & { readonly destroyed?: boolean };
}

interface Internals {
  readonly topology?: {
    readonly s?: {
      readonly servers?: ReadonlyMap<string, { readonly pool?: { readonly checkedOut?: Iterable<InUse> } }>;
    };
  };
}

const LOOK_MS = 250;

interface Looking {
  readonly timer: NodeJS.Timeout;
  users: number;
}

/** A client may serve a store, outboxes and feeds at once: one look is enough for all. */
const looking = new WeakMap<MongoClient, Looking>();

/** Looks until everybody who asked for it has told it to stop. */
export function freeEndedSockets(client: MongoClient): () => void {
  const present = looking.get(client) ?? {
    timer: setInterval(() => look(client), LOOK_MS).unref(),
    users: 0,
  };
  looking.set(client, present);
  present.users++;
  let over = false;
  return () => {
    if (over) return;
    over = true;
    if (--present.users > 0) return;
    clearInterval(present.timer);
    looking.delete(client);
  };
}

function look(client: MongoClient): void {
  for (const { closed, error, socket } of inUse(client)) {
    if (closed === true && socket?.destroyed === true && socket.listenerCount("drain") > 0)
      socket.emit("error", error ?? new MongoNetworkError("the connection was closed"));
  }
}

function* inUse(client: MongoClient): Iterable<InUse> {
  for (const { pool } of (client as unknown as Internals).topology?.s?.servers?.values() ?? [])
    yield* pool?.checkedOut ?? [];
}
