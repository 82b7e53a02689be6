import { describe, expect, it } from "vitest";
import { createBus } from "../bus/create-bus.js";
import { ManualClock } from "../model/manual-clock.js";
import { memoryStore } from "../stores/memory/index.js";
import { HubRoll } from "./hub-roll.js";

const about = { name: "shop", url: "http://127.0.0.1:1", startedMs: 1, connections: 0 };

describe("the roll of hubs", () => {
  it("P13: loses the entries of hubs that were killed, also where nobody looks", async () => {
    const clock = new ManualClock();
    const bus = await createBus({ store: memoryStore(), clock });
    const { registry } = bus.store;
    for (let n = 0; n < 5; n++)
      await registry.putToken(
        `hub:killed-${n}`,
        { ...about, id: `killed-${n}`, host: "elsewhere", pid: n, seenMs: clock.now() },
        { expected: 0 },
      );
    await clock.advance(3_600_000);
    const roll = new HubRoll(bus, () => about);
    roll.start();
    await expect.poll(async () => [...(await registry.tokens("hub:")).keys()]).toEqual([`hub:${roll.id}`]);
    await roll.close();
    expect((await registry.tokens("hub:")).size).toBe(0);
    await bus.close();
  });
});
