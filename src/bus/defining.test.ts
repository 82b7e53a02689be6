/** Topics by their definitions, also by those that could not be stored at first, or never can be. */
import { describe, expect, it } from "vitest";
import { BusBench, useBench } from "../../test/support/bus-bench.js";
import { defineTopic, type TopicDefinition } from "../model/topic.js";
import { memoryStore } from "../stores/memory/index.js";
import { faultyStore } from "../testing/faulty-store/index.js";

const bench = useBench();

describe("a definition that could not be stored", () => {
  it("is stored as it is by the next publish: the topic does not come into being with the defaults", async () => {
    let isAway = true;
    const away = faultyStore(memoryStore(), {
      call: ({ kind }) => (isAway && kind === "registry" ? { type: "error-before" } : null),
    });
    const own = new BusBench(away);
    const bus = await own.bus();
    const topic = defineTopic("t.a", { partitions: 4, compaction: true });
    await expect(bus.publish(topic, 1)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    isAway = false;
    await bus.publish(topic, 1);
    expect(await away.registry.topic("t.a")).toEqual({ name: "t.a", partitions: 4, compaction: true });
    await own.close();
  });

  it("is refused each time, not the first time alone", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.a", { partitions: 2 })] });
    const other = await bench().bus();
    const conflicting = defineTopic("t.a", { partitions: 4 });
    for (let time = 0; time < 2; time++) {
      await expect(other.publish(conflicting, 1)).rejects.toMatchObject({ code: "TOPIC_CONFLICT" });
      await expect(other.publish(defineTopic("t.b", { partitions: 0 }), 1)).rejects.toMatchObject({
        code: "INVALID_OPTION",
      });
    }
    expect((await bus.topics()).map(({ name }) => name)).toEqual(["t.a"]);
  });

  it("says nothing of what is published under its name", async () => {
    const bus = await bench().bus();
    const key = (): string => "of the refused one";
    await expect(bus.defineTopic(defineTopic("t.a", { partitions: 0, key }))).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
    expect(await bus.publish("t.a", 1)).not.toHaveProperty("key");
  });
});

describe("a topic that keeps events for a time", () => {
  it("has one that is a number, 0 or more: below that, all of them would go", async () => {
    const bus = await bench().bus();
    const bad: Partial<TopicDefinition>[] = [
      { retentionDays: Number(undefined) },
      { retentionDays: -1 },
      { retentionMs: -1 },
      { retentionMs: "7 days" as never },
      { retentionMs: Number.POSITIVE_INFINITY },
      { retentionBytes: Number.NaN },
      { retentionBytes: -1 },
      { tombstoneRetentionMs: Number.NaN },
      { tombstoneRetentionMs: null as never },
    ];
    for (const options of bad) {
      const [name = ""] = Object.keys(options);
      await expect(bus.defineTopic({ name: "t.a", ...options }), name).rejects.toMatchObject({
        code: "INVALID_OPTION",
        message: `t.a: ${name} must be a number of 0 or more`,
      });
    }
    const { retentionMs } = await bus.defineTopic({ name: "t.a", retentionDays: 0.5 });
    expect(retentionMs).toBe(43_200_000);
  });
});
