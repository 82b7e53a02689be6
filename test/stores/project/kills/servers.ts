/** Places of their own for runs of kills. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { ReplicaSet } from "../../../support/mongo/replica-set.js";
import type { StorePlace } from "../../../support/store-place.js";
import { ROLES, type RoleName } from "./roles.js";

/** "batches": on MongoDB, with that layout. */
export type StoreName = "embedded" | "mongo" | "batches";

/** Who meets the layout of the log; for the others "batches" is "mongo" once more, and the long runs have them all. */
const MEET_THE_LAYOUT: ReadonlySet<RoleName> = new Set(["compactor", "changelog", "transactional"]);

export function tells(store: StoreName, role: RoleName): boolean {
  return store !== "batches" || MEET_THE_LAYOUT.has(role);
}

/** Runs `body` in a fresh place; nothing of it is left afterwards. */
export async function inPlace<T>(
  store: StoreName,
  body: (place: StorePlace) => Promise<T>,
  role?: RoleName,
): Promise<T> {
  if (!needsMongo(store, role)) return await inFolder(store, body);
  await using server = await startServer();
  return await inPlaceOf(server, store, body, role);
}

/** The same on a server that several share: a file, or a database of its own, which goes with the server. */
export async function inPlaceOf<T>(
  server: ReplicaSet,
  store: StoreName,
  body: (place: StorePlace) => Promise<T>,
  role?: RoleName,
): Promise<T> {
  if (!needsMongo(store, role)) return await inFolder(store, body);
  const db = `kills-${randomBytes(4).toString("hex")}`;
  const layout = store === "batches" && { layout: store };
  return await inFolder(store, (place) => body({ ...place, url: server.url, db, ...layout }));
}

function needsMongo(store: StoreName, role: RoleName | undefined): boolean {
  return store !== "embedded" || (role !== undefined && ROLES[role].needsMongo === true);
}

/** A server for runs of kills; the caller disposes of it. */
export async function startServer(): Promise<ReplicaSet> {
  const server = await ReplicaSet.start();
  await endTransactionsSoon(server.url);
  return server;
}

async function inFolder<T>(store: StoreName, body: (place: StorePlace) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "promethean-kills-"));
  try {
    return await body(store === "embedded" ? { path: join(folder, "bus.db") } : {});
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A server gives the transactions of the dead a minute, during which nobody else may touch what they touched. */
async function endTransactionsSoon(url: string): Promise<void> {
  const client = new MongoClient(url);
  try {
    await client.db("admin").command({ setParameter: 1, transactionLifetimeLimitSeconds: 2 });
  } finally {
    await client.close();
  }
}
