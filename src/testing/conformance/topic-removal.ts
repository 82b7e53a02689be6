/** Topics that are removed: gone from every answer, but their seqs are never given again (P2), and nothing appended is lost. */
import { expect, it } from "vitest";
import type { TopicConfig } from "../../model/topic.js";
import type { Harness } from "./harness.js";
import { drafts, failsWith, headsNow, range, readAll, removeWhole, seqs, T0 } from "./samples.js";
import { RemovalRun } from "./topic-removal-model.js";

const CONFIG: TopicConfig = { name: "orders", partitions: 2, retentionMs: 1_000 };

export function describeTopicRemoval(harness: Harness): void {
  describeGone(harness);
  describeComebacks(harness);
  describeRemovalRaces(harness);
  it.each(range(1, 3))(
    "P1, P2, P3: topics that come and go by chance are what a model says (seed %i)",
    (seed) => new RemovalRun(harness, seed).run(60),
  );
}

function describeGone(harness: Harness): void {
  it("a removed topic is in no answer, of whatever handle, nor are its schemas", async () => {
    const { registry } = harness.store;
    const second = await harness.second();
    await registry.defineTopic(CONFIG);
    await registry.defineTopic({ name: "others", partitions: 1 });
    const schema = { version: 1, compat: "none", document: {}, createdMs: T0 };
    for (const topic of ["orders", "others"])
      await registry.putSchema({ ...schema, topic }, { expectedLatest: 0 });
    await harness.store.log.append("orders", 1, drafts(3));
    expect(await removeWhole(second, "orders")).toBe(true);
    for (const store of [harness.store, second]) {
      expect(await store.registry.topic("orders")).toBeNull();
      expect((await store.registry.topics()).map(({ name }) => name)).toEqual(["others"]);
      expect((await store.registry.schemas()).map(({ topic }) => topic)).toEqual(["others"]);
    }
    await registry.putSchema({ ...schema, topic: "orders" }, { expectedLatest: 0 });
  });

  it("one that is not there, or was removed before: NOT_FOUND", async () => {
    const { registry } = harness.store;
    await failsWith("NOT_FOUND", registry.removeTopic("orders", [0, 0]));
    await registry.defineTopic(CONFIG);
    expect(await registry.removeTopic("orders", [0, 0])).toBe(true);
    await failsWith("NOT_FOUND", registry.removeTopic("orders", [0, 0]));
  });

  it("one that was written to since: false, and no change", async () => {
    const { registry, log } = harness.store;
    await registry.defineTopic(CONFIG);
    const schema = { topic: "orders", version: 1, compat: "none", document: {}, createdMs: T0 };
    await registry.putSchema(schema, { expectedLatest: 0 });
    const heads = await headsNow(harness.store, "orders");
    await (await harness.second()).log.append("orders", 0, drafts(1));
    expect(await registry.removeTopic("orders", heads)).toBe(false);
    expect(await registry.topics()).toEqual([CONFIG]);
    expect(await registry.schemas("orders")).toEqual([schema]);
    expect(await readAll(harness.store, "orders")).toHaveLength(1);
    expect(await log.heads("orders")).toHaveLength(2);
  });
}

function describeComebacks(harness: Harness): void {
  it("P2, P3: defined again, it has nothing of before, goes on with the next seq, and takes the same ids", async () => {
    const { registry, log } = harness.store;
    const second = await harness.second();
    await registry.defineTopic(CONFIG);
    const before = drafts(3, { key: "k" });
    await log.append("orders", 1, before);
    await removeWhole(second, "orders");
    const again = { name: "orders", partitions: 2, keyed: true };
    expect(await second.registry.defineTopic(again)).toEqual(again);
    expect(await registry.topics()).toEqual([again]);
    expect(await log.heads("orders")).toMatchObject([
      { head: 0, events: 0 },
      { head: 3, low: 4, events: 0 },
    ]);
    expect(await log.history("orders", "k", { limit: 10 })).toEqual([]);
    const { events, duplicates } = await log.append("orders", 1, before);
    expect([seqs(events), duplicates.size]).toEqual([[4, 5, 6], 0]);
    expect(await second.log.read("orders", 1, { after: 2, limit: 10 })).toMatchObject({ through: 6 });
    expect(seqs(await readAll(second, "orders", 1))).toEqual([4, 5, 6]);
  });

  it("P2: written to by whoever has it open still, it is there again as it was, with what is new", async () => {
    const { registry } = harness.store;
    const second = await harness.second();
    await registry.defineTopic(CONFIG);
    await second.log.append("orders", 0, drafts(2));
    await removeWhole(harness.store, "orders");
    expect(seqs((await second.log.append("orders", 0, drafts(1))).events)).toEqual([3]);
    expect(await registry.topic("orders")).toEqual(CONFIG);
    expect(await second.registry.topics()).toEqual([CONFIG]);
    expect(seqs(await readAll(harness.store, "orders"))).toEqual([3]);
    expect(await registry.defineTopic({ name: "orders", partitions: 9 }, { ifAbsent: true })).toEqual(CONFIG);
    expect(await removeWhole(second, "orders"), "and can be removed again").toBe(true);
    expect(await registry.topic("orders")).toBeNull();
  });

  it("P2: it is there again also if what was appended went before anybody looked", async () => {
    const { registry, log } = harness.store;
    const second = await harness.second();
    for (const gone of ["trimmed", "compacted"]) {
      await registry.defineTopic({ ...CONFIG, name: gone });
      await log.append(gone, 0, drafts(2));
      expect(await removeWhole(harness.store, gone)).toBe(true);
      await second.log.append(gone, 0, drafts(1));
    }
    await log.trim("trimmed", 0, 3);
    await log.remove("compacted", 0, [3]);
    for (const store of [harness.store, second])
      expect((await store.registry.topics()).map(({ name }) => name)).toEqual(["compacted", "trimmed"]);
    expect(await registry.topic("trimmed")).toEqual({ ...CONFIG, name: "trimmed" });
  });

  it("with ifAbsent it is what is asked for, but for the partitions, which it keeps", async () => {
    const { registry } = harness.store;
    await registry.defineTopic(CONFIG);
    await registry.removeTopic("orders", [0, 0]);
    const second = await harness.second();
    const asked = { name: "orders", partitions: 7, retentionBytes: 5 };
    expect(await second.registry.defineTopic(asked, { ifAbsent: true })).toEqual({ ...asked, partitions: 2 });
    expect(await registry.topic("orders")).toEqual({ ...asked, partitions: 2 });
  });

  it("another number of partitions: TOPIC_CONFLICT that says which, and it stays gone", async () => {
    const { registry } = harness.store;
    await registry.defineTopic(CONFIG);
    await registry.removeTopic("orders", [0, 0]);
    await expect(registry.defineTopic({ ...CONFIG, partitions: 3 })).rejects.toMatchObject({
      code: "TOPIC_CONFLICT",
      details: { topic: "orders", partitions: 2 },
    });
    expect(await registry.topic("orders")).toBeNull();
  });
}

function describeRemovalRaces(harness: Harness): void {
  it("P1: what is appended while it is removed is there, and so is the topic", async () => {
    const second = await harness.second();
    await harness.store.registry.defineTopic(CONFIG);
    for (const round of range(1, 10)) {
      const appending = second.log.append("orders", round % 2, drafts(1));
      await removeWhole(harness.store, "orders");
      const [event] = (await appending).events;
      const [stored] = (
        await second.log.read("orders", round % 2, { after: (event?.seq ?? 0) - 1, limit: 1 })
      ).events;
      // Either it came before the heads were looked at, and went with all that was there, or it stays.
      const isThere = (await harness.store.registry.topic("orders")) !== null;
      expect(isThere, `round ${round}`).toBe(stored !== undefined);
      await second.registry.defineTopic(CONFIG);
    }
  });

  it("of many who define it again at once, all get what one of them stored", async () => {
    const second = await harness.second();
    await harness.store.registry.defineTopic(CONFIG);
    await harness.store.registry.removeTopic("orders", [0, 0]);
    const results = await Promise.all(
      range(1, 8).map((n) =>
        (n % 2 === 0 ? harness.store : second).registry.defineTopic(
          { name: "orders", partitions: n, retentionMs: n },
          { ifAbsent: true },
        ),
      ),
    );
    const stored = await harness.store.registry.topic("orders");
    for (const result of results) expect(result).toEqual(stored);
    expect(stored?.partitions).toBe(2);
  });
}
