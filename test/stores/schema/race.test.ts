import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { compileProgram } from "../../../scripts/embedded-sources.mjs";
import { StoredSchemaRegistry } from "../../../src/schema/registry/stored-registry.js";
import { embeddedStore } from "../../../src/stores/embedded/index.js";

const topic = "orders.placed";
let folder = "";
const racers: ChildProcessWithoutNullStreams[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "promethean-schema-"));
});

afterEach(async () => {
  for (const racer of racers.splice(0)) {
    if (racer.exitCode !== null || racer.signalCode !== null) continue;
    racer.kill("SIGKILL");
    await once(racer, "close");
  }
  await rm(folder, { recursive: true, force: true });
});

/** Starts a process that is ready to register; the function lets it, and tells the outcome. */
async function racer(program: string, path: string, member: string): Promise<() => Promise<string>> {
  const child = spawn(process.execPath, [program, path, member], { stdio: ["pipe", "pipe", "pipe"] });
  racers.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe("ready");
  return async () => {
    child.stdin.write("go\n");
    return (await lines.next()).value;
  };
}

describe("processes that register a version of a schema at once", () => {
  it("of four with different schemas one wins, and the store holds that one alone", async () => {
    const path = join(folder, "bus.db");
    const store = embeddedStore({ path });
    await store.open();
    const schemas = await StoredSchemaRegistry.open(store.registry);
    await schemas.register({ topic, version: 1, schema: z.object({ order: z.number() }) });

    const program = fileURLToPath(await compileProgram(new URL("./racer.ts", import.meta.url)));
    const members = ["a", "b", "c", "d"];
    const ready = await Promise.all(members.map((member) => racer(program, path, member)));
    const outcomes = await Promise.all(ready.map((go) => go()));

    expect([...outcomes].sort()).toEqual(["SCHEMA_CONFLICT", "SCHEMA_CONFLICT", "SCHEMA_CONFLICT", "ok"]);
    await schemas.refresh();
    const winner = members[outcomes.indexOf("ok")] ?? "";
    expect(schemas.versions(topic).map(({ version }) => version)).toEqual([1, 2]);
    expect(schemas.get(topic, 2)?.jsonSchema).toMatchObject({ properties: { [winner]: { type: "string" } } });
    await store.close();
  }, 120_000);
});
