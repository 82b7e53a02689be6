/** A hub in a process of its own. Tells where it listens; SIGTERM ends it in good order. Args: one JSON object. */
import { writeSync } from "node:fs";
import { createBus } from "../../src/bus/create-bus.js";
import type { HubLimits } from "../../src/hub/limits.js";
import { startHub } from "../../src/hub/server.js";
import type { Store } from "../../src/ports/store.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { memoryStore } from "../../src/stores/memory/index.js";
import { mongoStore } from "../../src/stores/mongo/index.js";

export interface HubProcessOptions {
  readonly mongo?: { readonly url: string; readonly db: string };
  readonly path?: string;
  /** Whether the hub has the file for itself. */
  readonly exclusive?: boolean;
  /** Unless one of these is named, the store is in memory. */
  readonly limits?: Partial<HubLimits>;
  readonly leaseMs?: number;
  readonly drainMs?: number;
  readonly partitions?: number;
}

export type HubProcessLine = { readonly type: "ready"; readonly url: string } | { readonly type: "closed" };

function tell(line: HubProcessLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

const {
  mongo,
  path,
  exclusive = false,
  limits = {},
  leaseMs = 10_000,
  drainMs = 5_000,
  partitions = 8,
} = JSON.parse(process.argv[2] ?? "{}") as HubProcessOptions;

function openedBy(): Store {
  if (mongo !== undefined) return mongoStore({ ...mongo, onWarning: () => undefined });
  return path === undefined ? memoryStore() : embeddedStore({ path, exclusive });
}

const bus = await createBus({
  store: openedBy(),
  topics: [{ name: "orders", partitions }],
  leaseMs,
  onTrouble: () => undefined,
});
const hub = await startHub({ bus, auth: { tokens: { t: { scopes: ["*:*"] } } }, drainMs, limits });

process.once("SIGTERM", () => {
  process.once("SIGTERM", () => process.exit(1));
  void hub
    .close()
    .then(() => bus.close())
    .then(() => {
      tell({ type: "closed" });
      process.exit(0);
    });
});
tell({ type: "ready", url: hub.url });
