import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { compileSources } from "../../test/support/compiled-sources.js";
import { gate, settled } from "../../test/support/eventually.js";
import { hubFixture } from "../../test/support/hub-fixture.js";
import { memoryStore } from "../stores/memory/index.js";
import { interceptStore } from "../testing/store-calls.js";

it("promethean subscribe is ended by Ctrl-C, also while the hub takes its subscription on", async () => {
  const compiled = compileSources("cli/main.ts");
  const joining = gate();
  const held = gate();
  const store = interceptStore(memoryStore(), {
    around: async (call, proceed) => {
      if (call.name === "groups.join") {
        joining.open();
        await held.passed;
      }
      return proceed();
    },
  });
  const f = await hubFixture({ bus: { store } });
  try {
    const program = fileURLToPath(compiled.entries[0] as string);
    const args = [program, "subscribe", "t.a", "--group", "g", "--url", f.hub.url, "--token", "all"];
    const child = spawn(process.execPath, args);
    onTestFinished(() => void child.kill("SIGKILL"));
    const ended = once(child, "close");
    await joining.passed;
    child.kill("SIGINT");
    await settled(50);
    held.open();
    expect(await ended).toEqual([130, null]);
  } finally {
    held.open();
    await f.close();
    compiled.remove();
  }
}, 60_000);
