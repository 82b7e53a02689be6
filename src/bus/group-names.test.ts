import { afterEach, beforeEach, expect, it } from "vitest";
import { memoryStore } from "../stores/memory/index.js";
import type { Bus } from "./bus.js";
import { createBus } from "./create-bus.js";

let bus: Bus;
beforeEach(async () => {
  bus = await createBus({ store: memoryStore() });
});
afterEach(() => bus.close());

it.each([
  ["my group", '"my group" is not a group name'],
  ["", '"" is not a group name'],
  ["..", '".." is not a group name'],
  [7 as never, "number is not a group name"],
])("the name %j is refused, and the error names it", async (group, message) => {
  const refusal = { code: "INVALID_OPTION", message: expect.stringContaining(message) };
  await expect(bus.subscribe("orders", group, () => undefined)).rejects.toMatchObject(refusal);
  await expect(bus.setCursor("orders", group, "earliest")).rejects.toMatchObject(refusal);
});
