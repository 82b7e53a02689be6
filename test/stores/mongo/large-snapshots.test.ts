/** Events that MongoDB takes, but not with what an entry of a snapshot adds to them. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import { compactNow, startCompactor } from "../../../src/project/history/compactor.js";
import { warmView } from "../../../src/project/views/warm.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { eventually } from "../../support/eventually.js";
import { TestDatabase } from "../../support/mongo/database.js";

const MIB = 1_048_576;
const LARGE = "x".repeat(16 * MIB - 300);

let database: TestDatabase;
let bus: Bus;

beforeEach(async () => {
  database = await TestDatabase.create();
  bus = await createBus({
    store: mongoStore({ url: database.url, db: database.name }),
    limits: { maxPayloadBytes: 16 * MIB },
  });
  await bus.defineTopic({ name: "t", partitions: 2, compaction: true });
});
afterEach(async () => {
  await bus.close();
  await database.dispose();
});

async function keysIn(topic: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { partition, key } of bus.read(topic)) keys.push(`${partition} ${key}`);
  return keys.sort();
}

async function publishAll(): Promise<void> {
  await bus.publish("t", 1, { key: "a", partition: 0 });
  await bus.publish("t", LARGE, { key: "large", partition: 0 });
  for (const key of ["a", "b"]) await bus.publish("t", 2, { key, partition: 0 });
  for (const payload of [1, 2]) await bus.publish("t", payload, { key: "c", partition: 1 });
}

describe("an event that is too large for an entry of the snapshot", () => {
  it("P11: is named, and holds up its own partition's snapshot alone: logs are compacted", async () => {
    await publishAll();
    await expect(compactNow(bus)).rejects.toMatchObject({
      code: "PAYLOAD_TOO_LARGE",
      message: expect.stringContaining('the snapshot of "t" waits before seq 2 of partition 0 (key "large")'),
    });
    expect(await keysIn("t.snapshot")).toEqual(["0 a", "1 c"]);
    expect(await keysIn("t")).toEqual(["0 a", "0 b", "0 large", "1 c"]);
  });

  it("P11: costs no entries round after round, and the snapshot goes on once a smaller event took its place", async () => {
    await publishAll();
    for (let round = 0; round < 3; round++)
      await expect(compactNow(bus)).rejects.toThrow(/waits before seq 2/);
    expect(await keysIn("t.snapshot")).toEqual(["0 a", "1 c"]);
    await bus.publish("t", 2, { key: "large", partition: 0 });
    await compactNow(bus, { keepSnapshotsMs: 0 });
    expect(await keysIn("t.snapshot")).toEqual(["0 a", "0 b", "0 large", "1 c"]);
    await warmView(bus, { topic: "t", view: "warm", map: ({ payload }) => ({ value: payload }) });
    const { items } = await bus.view<{ value: number }>("warm").find();
    expect(items.map(({ _key, value }) => [_key, value])).toEqual(
      ["a", "b", "c", "large"].map((key) => [key, 2]),
    );
  });

  it("shows on the board of tasks", async () => {
    await publishAll();
    const compactor = startCompactor(bus, { everyMs: 10 });
    await eventually(
      () => bus.tasks.reports().some(({ lastError }) => lastError?.includes("waits before seq 2") === true),
      "it is told",
    );
    expect(bus.tasks.reports()).toMatchObject([{ kind: "compactor", state: "retrying" }]);
    await compactor.stop();
  });
});
