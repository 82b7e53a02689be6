/** The small stores of the first days, on the memory store. */
import { describe, expect, it } from "vitest";
import { InMemoryCursorStore, InMemoryEventStore } from "../in-memory.js";
import { seededRandom } from "../model/manual-clock.js";
import { memoryStore } from "../stores/memory/index.js";

async function storeWith(partitions: number): Promise<InMemoryEventStore> {
  const store = memoryStore();
  await store.open();
  await store.registry.defineTopic({ name: "t.a", partitions });
  return new InMemoryEventStore(store);
}

describe("a scan of several partitions", () => {
  it("keeps each in its own order, whatever the clocks of its publishers said", async () => {
    const events = await storeWith(4);
    const random = seededRandom(7);
    for (let n = 0; n < 400; n++) {
      const ts = Math.floor(random() * 1_000);
      await events.insert({ id: `e${n}`, topic: "t.a", ts, payload: n, partition: n % 4 });
    }
    const scanned = await events.scan("t.a");
    for (let partition = 0; partition < 4; partition++) {
      const seqs = scanned.filter((event) => event.partition === partition).map(({ seq }) => seq);
      expect(seqs).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
    }
    expect((await events.scan("t.a", { limit: 10 })).map(({ id }) => id)).toEqual(
      scanned.slice(0, 10).map(({ id }) => id),
    );
  });

  it("merges them by time", async () => {
    const events = await storeWith(2);
    for (const [n, partition] of [1, 0, 0, 1, 0].entries())
      await events.insert({ id: `e${n}`, topic: "t.a", ts: n, payload: n, partition });
    expect((await events.scan("t.a")).map(({ payload }) => payload)).toEqual([0, 1, 2, 3, 4]);
  });
});

describe("a topic that nobody inserted anything into", () => {
  it("is empty for whoever looks, and does not come into being by that", async () => {
    const events = await storeWith(1);
    expect(await events.scan("t.none")).toEqual([]);
    expect(await events.latestByKey("t.none", ["k"])).toEqual({ k: undefined });
    expect((await events.store.registry.topics()).map(({ name }) => name)).toEqual(["t.a"]);
  });
});

describe("an event for a partition that a new topic would not have", () => {
  it("is refused, and brings no topic into being", async () => {
    const events = await storeWith(1);
    const inserting = events.insert({ id: "e", topic: "t.none", ts: 1, payload: 1, partition: 3 });
    await expect(inserting).rejects.toMatchObject({ code: "INVALID_OPTION" });
    expect((await events.store.registry.topics()).map(({ name }) => name)).toEqual(["t.a"]);
  });
});

describe("the small stores refuse", () => {
  it("to scan behind an event that the topic does not have", async () => {
    const events = await storeWith(1);
    await events.insert({ id: "other", topic: "t.b", ts: 1, payload: 1 });
    for (const afterId of ["nobody", "other"])
      await expect(events.scan("t.a", { afterId })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("names that are none, and partitions that the topic does not have", async () => {
    const events = await storeWith(2);
    const event = { id: "e", topic: "t.a", ts: 1, payload: 1 };
    for (const partition of [2, -1, 0.5])
      await expect(events.insert({ ...event, partition })).rejects.toMatchObject({ code: "INVALID_OPTION" });
    for (const topic of ["NOT A TOPIC", ""]) {
      await expect(events.insert({ ...event, topic })).rejects.toMatchObject({ code: "INVALID_TOPIC" });
      await expect(events.scan(topic)).rejects.toMatchObject({ code: "INVALID_TOPIC" });
      const cursors = new InMemoryCursorStore(events.store);
      await expect(cursors.set(topic, "g", { topic })).rejects.toMatchObject({ code: "INVALID_TOPIC" });
    }
    expect((await events.store.registry.topics()).map(({ name }) => name)).toEqual(["t.a"]);
  });
});
