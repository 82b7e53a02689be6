import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Bus } from "../bus/bus.js";
import { createBus } from "../bus/create-bus.js";
import { memoryStore } from "../stores/memory/index.js";
import { floorsAt, type Position } from "./topic-position.js";

let bus: Bus;
beforeEach(async () => {
  bus = await createBus({ store: memoryStore(), topics: [{ name: "t", partitions: 2 }] });
});
afterEach(() => bus.close());

const at = (position: Position): Promise<number[]> => floorsAt(bus.store.log, "t", position);

describe("a position", () => {
  it("by id is right before that event, whatever others of its time or with a wrong one come before it", async () => {
    const ids: string[] = [];
    for (const ts of [100, 900, 200, 200, 200]) {
      ids.push((await bus.publish("t", ts, { partition: 0, ts })).id);
      await bus.publish("t", ts, { partition: 1, ts });
    }
    expect(await at({ id: ids[3] as string })).toEqual([3, 1]);
    expect(await at({ id: ids[0] as string })).toEqual([0, 0]);
  });

  it("is never before the first event, nor behind the last", async () => {
    for (let n = 0; n < 3; n++) await bus.publish("t", n, { partition: 0 });
    expect(await at({ seq: 0 })).toEqual([0, 0]);
    expect(await at({ seq: 3 })).toEqual([2, 0]);
    expect(await at({ seq: 0, partition: 0 })).toEqual([0, 0]);
    expect(await at({ floors: [9, 9] })).toEqual([3, 0]);
    expect(await at("latest")).toEqual([3, 0]);
  });
});
