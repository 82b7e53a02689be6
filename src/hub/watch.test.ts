import { afterEach, beforeEach, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.js";
import type { Bus } from "../bus/bus.js";
import { createBus } from "../bus/create-bus.js";
import { Fatal } from "../model/errors.js";
import { discardDeadLetters } from "../project/letters/dead-letters.js";
import { memoryStore } from "../stores/memory/index.js";
import { Watch } from "./watch.js";

let bus: Bus;
beforeEach(async () => {
  bus = await createBus({ store: memoryStore() });
});
afterEach(() => bus.close());

const open = async (): Promise<number> => (await new Watch(bus).letters()).open;

async function refuseAll(topic: string): Promise<void> {
  await bus.subscribe(topic, "g", () => {
    throw new Fatal("no");
  });
}

it("counts dead letters as open until something became of them, however long the name of their topic", async () => {
  const topic = "long-".repeat(30).slice(0, -1);
  await refuseAll(topic);
  await bus.publishMany(topic, [{ payload: 1 }, { payload: 2 }]);
  await eventually(async () => (await open()) === 2, "both events are given up");
  expect(await discardDeadLetters(bus, topic, { reason: "of no use" })).toBe(2);
  expect(await open()).toBe(0);
});

it("tells topics apart whose long names begin with the same words", async () => {
  const [kept, discarded] = ["a", "b"].map((end) => `${"long-".repeat(30)}${end}`) as [string, string];
  for (const topic of [kept, discarded]) await refuseAll(topic);
  await bus.publish(kept, 1);
  await bus.publishMany(discarded, [{ payload: 1 }, { payload: 2 }]);
  await eventually(async () => (await open()) === 3, "all events are given up");
  await discardDeadLetters(bus, discarded, { reason: "of no use" });
  expect((await new Watch(bus).letters()).topics).toEqual({ [kept]: 1 });
});
