import { expect, it } from "vitest";
import { createBus } from "../../bus/create-bus.js";
import { memoryStore } from "../../stores/memory/index.js";
import { WorkSession } from "../partition-lease.js";
import { readMarks } from "./snapshot.js";
import { snapshotTopicOnce } from "./snapshotter.js";

it("P13: a stretch is cut by all that its events have, headers too", async () => {
  const topic = { name: "orders", partitions: 1 };
  const bus = await createBus({ store: memoryStore(), topics: [topic] });
  const headers = { about: "x".repeat(10_000) };
  for (let n = 0; n < 20; n++) await bus.publish("orders", n, { key: `k${n}`, headers });
  const session = await WorkSession.open(bus.store.groups, bus.clock, "test");
  const bounds = { maxKeys: 1_000, maxBytes: 50_000, pageSize: 1 };
  const pace = { breathe: () => Promise.resolve(), signal: new AbortController().signal };
  const counts = { scanned: 0, snapshotEntries: 0 };
  await snapshotTopicOnce(bus, topic, session, { ...bounds, ...pace }, counts);
  const { marks } = await readMarks(bus.store, "orders", 0);
  expect(marks.map(({ position }) => position)).toEqual([5, 10, 15, 20]);
  await session.close();
  await bus.close();
});
