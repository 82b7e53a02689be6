/** A partition whose next events are damaged: the rest can still be looked after. */
import { describe, expect, it, vi } from "vitest";
import { BusError } from "../model/errors.js";
import { memoryStore } from "../stores/memory/index.js";
import { createBus } from "./create-bus.js";

describe("a damaged partition", () => {
  it("P14: does not hide how the groups do: lag says where the damage is, why says what to do", async () => {
    const store = memoryStore();
    const bus = await createBus({ store, onTrouble: () => undefined });
    const { id } = await bus.publish("t.hurt", 1, { ts: bus.clock.now() - 60_000 });
    await bus.publish("t.hurt", 2);
    await bus.publish("t.fine", 1);
    await bus.setCursor("t.hurt", "g", { lastId: id });
    await bus.setCursor("t.fine", "g", "earliest");
    const read = store.log.read.bind(store.log);
    vi.spyOn(store.log, "read").mockImplementation(async (topic, partition, options) => {
      if (topic === "t.hurt" && options.after >= 1)
        throw new BusError(
          "STORE_DAMAGED",
          "event 2 of partition 0 is damaged; restore the file from a backup",
        );
      return read(topic, partition, options);
    });
    const lags = await bus.admin.lag();
    const hurt = lags.find(({ topic }) => topic === "t.hurt");
    expect(lags).toHaveLength(2);
    expect(hurt).toMatchObject({ lag: 1, partitions: [{ damage: expect.stringContaining("event 2") }] });
    expect(hurt?.lagSeconds).toBeGreaterThanOrEqual(60);
    const why = await bus.admin.why({ topic: "t.hurt", group: "g" });
    expect(why?.sentence).toBe(
      "g is 1 event behind on t.hurt and stands still in partition 0: event 2 of partition 0 is damaged; restore the file from a backup.",
    );
    await bus.close();
  });
});
