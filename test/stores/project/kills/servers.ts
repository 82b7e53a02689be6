/** Places of their own for runs of kills. */
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
  const folder = await mkdtemp(join(tmpdir(), "promethean-kills-"));
  const needsMongo = store !== "embedded" || (role !== undefined && ROLES[role].needsMongo);
  const server = needsMongo ? await ReplicaSet.start() : null;
  try {
    if (server !== null) await endTransactionsSoon(server.url);
    return await body({
      ...(store === "embedded" && { path: join(folder, "bus.db") }),
      ...(server !== null && { url: server.url }),
      ...(store === "batches" && { layout: store }),
    });
  } finally {
    await server?.dispose();
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
