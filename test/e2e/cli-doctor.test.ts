import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { createBus } from "../../src/bus/create-bus.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { Connection } from "../../src/stores/embedded/sqlite.js";
import { ensureBuilt, run } from "../support/cli.js";

let folder: string;
let path: string;
beforeAll(ensureBuilt);
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "promethean-doctor-"));
  path = join(folder, "bus.db");
  const topics = [{ name: "orders", partitions: 1 }];
  const bus = await createBus({ store: embeddedStore({ path }), topics });
  for (const n of [1, 2, 3]) await bus.publish("orders", { n }, { id: `order-${n}` });
  await bus.close();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("P14: reads a sound file to its end", async () => {
  const { code, out } = await run(["doctor", "--store", path, "--deep"]);
  expect(code).toBe(0);
  expect(out).toContain("3 events, all sound");
});

it("P14: names what is damaged, says what to do, and fails", async () => {
  const connection = new Connection(path, { busyTimeoutMs: 1_000 });
  connection.exec("DELETE FROM id_note WHERE id = 2");
  connection.close();
  const { code, out, err } = await run(["doctor", "--store", path, "--deep"]);
  expect(code).toBe(1);
  expect(out).toContain('event 2 of partition 0 of "orders" is not found by its id');
  expect(out).toContain("restore a backup");
  expect(err).toContain("checks failed");
});

it("P10: tells of entries of the outbox that are stuck, and `outbox status` of each with its error", async () => {
  const store = embeddedStore({ path });
  const bus = await createBus({ store });
  for (const id of ["o-1", "o-2"]) await store.outbox.add({ id, topic: "orders", payload: 1, key: id });
  const [dead, failing] = await store.outbox.claimBatch(2);
  await store.outbox.markError("o-1", dead?.token ?? "", { error: "does not fit", dead: true });
  await store.outbox.markError("o-2", failing?.token ?? "", { error: "not yet", retryAfterMs: 60_000 });
  await bus.close();
  const { out } = await run(["doctor", "--store", path]);
  expect(out).toContain("1 dead entry, 1 that failed so far");
  const status = await run(["outbox", "status", "--store", path]);
  expect(status.out).toMatch(/o-1 .*dead +1 +does not fit/);
  expect(status.out).toMatch(/o-2 .*pending +1 +not yet/);
});

it("says which file it would need", async () => {
  const { code, out } = await run(["doctor", "--store", "memory", "--deep"]);
  expect({ code, warned: out.includes("only a store's own file can be read through") }).toEqual({
    code: 0,
    warned: true,
  });
});
