/** A filter that is misspelt must not count as none: what it was to spare would be redriven, discarded or moved. */
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Bus } from "../bus/bus.js";
import { createBus } from "../bus/create-bus.js";
import { memoryStore } from "../stores/memory/index.js";
import { deadLetters, discardDeadLetters } from "./dead-letters.js";
import { redrive } from "./redrive.js";
import { replay } from "./replay.js";

let bus: Bus;
beforeEach(async () => {
  bus = await createBus({ store: memoryStore() });
  await bus.subscribe("orders", "mailer", () => Promise.reject(new Error("no")), { maxAttempts: 1 });
  await bus.publish("orders", 1);
  await expect.poll(letters).toBe(1);
});
afterEach(() => bus.close());

async function letters(): Promise<number> {
  let count = 0;
  for await (const _ of deadLetters(bus, "orders")) count++;
  return count;
}

it.each<[string, () => Promise<unknown>]>([
  ["redrive", () => redrive(bus, { topic: "orders", ...{ grop: "biller" } })],
  ["discardDeadLetters", () => discardDeadLetters(bus, "orders", { reason: "old", ...{ grop: "biller" } })],
  ["replay of a topic", () => replay(bus, { from: "orders", to: "orders-again", ...{ grop: "biller" } })],
  [
    "replay of a group",
    () => replay(bus, { topic: "orders", group: "mailer", to: "earliest", ...{ grop: true } }),
  ],
])("%s refuses an option that it does not know, and does nothing", async (call, doing) => {
  await expect(doing()).rejects.toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringContaining(`${call} knows no option "grop"; it takes `),
  });
  expect(await letters()).toBe(1);
  expect((await bus.topics()).map(({ name }) => name).sort()).toEqual(["dlq.orders", "orders"]);
});
