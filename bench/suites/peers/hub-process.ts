/**
 * A hub on the embedded store, which it has for itself as the other servers have their files, in a process of its own, for those who have the token given to it. Tells its address; ends
 * when it is told to, or left alone.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBus } from "../../../src/bus/create-bus.js";
import { startHub } from "../../../src/hub/server.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";

const folder = mkdtempSync(join(tmpdir(), "promethean-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
process.once("disconnect", () => process.exit());

const bus = await createBus({ store: embeddedStore({ path: join(folder, "bus.db"), exclusive: true }) });
const hub = await startHub({
  bus,
  // Rates are not what is measured.
  limits: { framesPerSecond: 10_000_000, publishesPerSecondPerTopic: 10_000_000 },
  auth: { tokens: { [process.argv[2] ?? ""]: { scopes: ["*:*"] } } },
});

async function stop(): Promise<void> {
  await hub.close();
  await bus.close();
  process.exit();
}

process.once("message", () => void stop());
process.send?.(hub.url);
