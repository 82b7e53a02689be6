/** Events with as many headers as a bus takes: what a redrive or a replay adds to them must not keep them from going on. */
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import { Fatal } from "../../model/errors.js";
import { DEFAULT_LIMITS } from "../../model/limits.js";
import { memoryStore } from "../../stores/memory/index.js";
import { deadLetters, discardDeadLetters } from "../letters/dead-letters.js";
import { redrive } from "../letters/redrive.js";
import { replay } from "./replay.js";

/** With all that JSON puts around it, no character more is taken. */
const headers = { h: "x".repeat(DEFAULT_LIMITS.maxMetaChars - '{"headers":{"h":""}}'.length) };
const group = "g".repeat(200);

let bus: Bus;
beforeEach(async () => {
  bus = await createBus({ store: memoryStore() });
});
afterEach(() => bus.close());

/** Gives up the first, and says in which order the group gets the others. */
async function giveUpFirst(deadLetter: true | "hold"): Promise<unknown[]> {
  await expect(bus.publish("orders", 0, { headers: { ...headers, i: "" } })).rejects.toThrow("characters");
  await bus.publish("orders", 1, { key: "k", headers });
  const got: unknown[] = [];
  let isMended = false;
  await bus.subscribe(
    "orders",
    group,
    ({ payload }) => {
      if (payload === 1 && !isMended) {
        isMended = true;
        throw new Fatal("no");
      }
      got.push(payload);
    },
    { deadLetter, from: "earliest" },
  );
  await expect.poll(letters).toBe(1);
  return got;
}

async function letters(): Promise<number> {
  let count = 0;
  for await (const _ of deadLetters(bus, "orders")) count++;
  return count;
}

it.each([true, "hold"] as const)("P8: with deadLetter %s, they come back", async (deadLetter) => {
  const got = await giveUpFirst(deadLetter);
  expect(await redrive(bus, { topic: "orders" })).toMatchObject({ redriven: 1 });
  await expect.poll(() => got).toEqual([1]);
});

it("P8, P15: a key that is held for one is free once that is discarded", async () => {
  const got = await giveUpFirst("hold");
  expect(await discardDeadLetters(bus, "orders", { reason: "old" })).toBe(1);
  await bus.publish("orders", 2, { key: "k" });
  await expect.poll(() => got).toEqual([2]);
});

it("P8: they go to another topic, by a redrive or by a replay", async () => {
  await giveUpFirst(true);
  expect(await redrive(bus, { topic: "orders", to: "mended" })).toMatchObject({ redriven: 1 });
  expect(await replay(bus, { from: "orders", to: "copies" })).toMatchObject({ events: 1, complete: true });
  for (const topic of ["mended", "copies"])
    for await (const event of bus.read(topic)) expect(event.headers?.h).toBe(headers.h);
});

it("many causes count", async () => {
  const caused_by = ["a", "b", "c"];
  await expect(bus.publish("orders", 0, { headers, caused_by })).rejects.toThrow("characters");
});
