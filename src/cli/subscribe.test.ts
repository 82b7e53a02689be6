import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { compileModule } from "../../scripts/embedded-sources.mjs";
import { gate, settled } from "../../test/support/eventually.js";
import { type HubFixture, hubFixture } from "../../test/support/hub-fixture.js";
import { summarizeDeadLetters } from "../project/letters/dead-letters.js";
import { memoryStore } from "../stores/memory/index.js";
import { interceptStore } from "../testing/store-calls.js";

const program = fileURLToPath(await compileModule(new URL("./main.ts", import.meta.url)));

/** `promethean subscribe t.a --group g`, with these options besides. */
function subscribe({ hub }: HubFixture, ...options: string[]): ChildProcess {
  const args = ["subscribe", "t.a", "--group", "g", "--url", hub.url, "--token", "all", ...options];
  const child = spawn(process.execPath, [program, ...args]);
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

it("promethean subscribe is ended by Ctrl-C, also while the hub takes its subscription on", async () => {
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
    const child = subscribe(f);
    const ended = once(child, "close");
    await joining.passed;
    child.kill("SIGINT");
    await settled(50);
    held.open();
    expect(await ended).toEqual([130, null]);
  } finally {
    held.open();
    await f.close();
  }
}, 60_000);

it("P8: promethean subscribe gives events beyond its limit back untried, however many came at once", async () => {
  const f = await hubFixture();
  try {
    for (let n = 0; n < 6; n++) await f.bus.publish("t.a", n);
    const untried = ["--from", "earliest", "--limit", "2", "--concurrency", "4", "--max-attempts", "1"];
    const child = subscribe(f, ...untried, "--exec", "exit 0");
    expect(await once(child, "close")).toEqual([0, null]);
    expect(await f.bus.topics()).toMatchObject([{ name: "t.a" }]);
    expect(await f.bus.admin.lag({ topic: "t.a" })).toMatchObject([{ group: "g", lag: 4 }]);
  } finally {
    await f.close();
  }
}, 60_000);

it("P8: promethean subscribe counts an event that it gave up, which is settled, and begins no other in its place", async () => {
  const f = await hubFixture();
  try {
    for (let n = 0; n < 5; n++) await f.bus.publish("t.a", n);
    const options = ["--from", "earliest", "--limit", "3", "--concurrency", "4", "--max-attempts", "1"];
    const child = subscribe(f, ...options, "--exec", `grep -v '"payload":[01]'`);
    expect(await once(child, "close")).toEqual([0, null]);
    await expect.poll(() => summarizeDeadLetters(f.bus, "t.a")).toMatchObject({ open: 2 });
    await expect.poll(() => f.bus.admin.lag({ topic: "t.a" })).toMatchObject([{ group: "g", lag: 2 }]);
  } finally {
    await f.close();
  }
}, 60_000);

it("P8: promethean subscribe ends with its limit though no event was handled, and not before the last try", async () => {
  const f = await hubFixture();
  try {
    await f.bus.publish("t.a", 1);
    const child = subscribe(
      f,
      "--from",
      "earliest",
      "--limit",
      "1",
      "--max-attempts",
      "2",
      "--exec",
      "exit 3",
    );
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    expect(await once(child, "close")).toEqual([0, null]);
    expect(said).toContain("try 2 of 2: exit code 3");
    await expect.poll(() => summarizeDeadLetters(f.bus, "t.a")).toMatchObject({ open: 1 });
  } finally {
    await f.close();
  }
}, 60_000);

it("P8: promethean subscribe says which event it gave up, also if the program for it said nothing", async () => {
  const f = await hubFixture();
  try {
    const { id } = await f.bus.publish("t.a", 1);
    const child = subscribe(f, "--from", "earliest", "--max-attempts", "2", "--exec", "exit 3");
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    await expect.poll(() => said, { timeout: 50_000 }).toContain("\n");
    expect(said).toBe(`promethean: g failed on event ${id} of t.a, try 2 of 2: exit code 3\n`);
    child.kill("SIGINT");
    expect(await once(child, "close")).toEqual([130, null]);
  } finally {
    await f.close();
  }
}, 60_000);
