import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { compileModule } from "../../scripts/embedded-sources.mjs";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";

let program = "";
let f: HubFixture;
beforeAll(async () => {
  program = fileURLToPath(await compileModule(new URL("./main.ts", import.meta.url)));
}, 60_000);
beforeEach(async () => {
  f = await hubFixture();
});
afterEach(() => f.close());

/** What `promethean tail` is told, and what Node is told of it. */
function tail(args: readonly string[], node: readonly string[] = []): string[] {
  return [...node, program, "tail", ...args, "--url", f.hub.url, "--token", "all"];
}

describe("promethean tail", () => {
  it("P13: keeps nothing of the events it has printed", async () => {
    const payload = "x".repeat(900_000);
    for (let n = 0; n < 80; n++) await f.bus.publish("t.large", payload);
    const args = tail(["t.large", "--from", "earliest", "--limit", "80"], ["--max-old-space-size=48"]);
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
    const said = text(child.stderr);
    const [code] = await once(child, "close");
    expect({ code, said: (await said).slice(0, 200) }).toEqual({ code: 0, said: "" });
  }, 120_000);

  it("is ended by Ctrl-C while it waits for the next event", async () => {
    await f.bus.publish("t.a", 1);
    const child = spawn(process.execPath, tail(["t.a", "--from", "earliest"]));
    await once(child.stdout, "data");
    child.kill("SIGINT");
    expect(await once(child, "close")).toEqual([130, null]);
  });
});
