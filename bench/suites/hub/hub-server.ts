/** The hub that is measured, in a process of its own, on the embedded store: every publish is synced before its answer. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBus } from "../../../src/bus/create-bus.js";
import { startHub } from "../../../src/hub/server.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";
// The compiler must emit the threads' modules too, although nothing here calls them.
import type {} from "../../../src/stores/embedded/threads/reader-worker.js";
import type {} from "../../../src/stores/embedded/threads/writer-worker.js";
import { TOKEN } from "./load.js";

const folder = mkdtempSync(join(tmpdir(), "promethean-bench-"));
const bus = await createBus({ store: embeddedStore({ path: join(folder, "bus.db") }) });
const limits = { framesPerSecond: 1e9, publishesPerSecondPerTopic: 1e9 };
const hub = await startHub({ bus, auth: { tokens: { [TOKEN]: { scopes: ["*:*"] } } }, limits, drainMs: 100 });
process.send?.({ port: hub.port });
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ spentUs: user + system });
});
process.once("disconnect", () => {
  void hub
    .close()
    .then(() => bus.close())
    .then(() => rmSync(folder, { recursive: true, force: true }))
    .then(() => process.exit(0));
});
