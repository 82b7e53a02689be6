import { afterEach, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.js";
import { createBus } from "../bus/create-bus.js";
import { Fatal } from "../model/errors.js";
import { discardDeadLetters } from "../project/dead-letters.js";
import { memoryStore } from "../stores/memory/index.js";
import { Watch } from "./watch.js";

const bus = await createBus({ store: memoryStore() });
afterEach(() => bus.close());

it("counts dead letters as open until something became of them, however long the name of their topic", async () => {
  const topic = "long-".repeat(30).slice(0, -1);
  await bus.subscribe(topic, "g", () => {
    throw new Fatal("no");
  });
  await bus.publishMany(topic, [{ payload: 1 }, { payload: 2 }]);
  const open = async (): Promise<number> => (await new Watch(bus).letters()).open;
  await eventually(async () => (await open()) === 2, "both events are given up");
  expect(await discardDeadLetters(bus, topic, { reason: "of no use" })).toBe(2);
  expect(await open()).toBe(0);
});
