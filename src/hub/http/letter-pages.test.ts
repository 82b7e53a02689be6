import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { turnsDuring } from "../../../test/support/turns.js";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import { deadLetters, summarizeDeadLetters } from "../../project/letters/dead-letters.js";
import { memoryStore } from "../../stores/memory/index.js";
import { letterPage } from "./letter-pages.js";

const topic = "orders";
const LETTERS = 300;
let bus: Bus;

async function giveUp(from: number, to: number): Promise<void> {
  for (let n = from; n < to; n++) await bus.publish(topic, { n, text: "x".repeat(20) }, { key: `k${n % 7}` });
  await expect.poll(async () => (await summarizeDeadLetters(bus, topic)).open).toBe(to);
}

beforeEach(async () => {
  bus = await createBus({ store: memoryStore(), onTrouble: () => undefined });
  await bus.defineTopic({ name: topic, partitions: 3 });
  const fail = (): never => {
    throw new Error("no");
  };
  await bus.subscribe(topic, "mailer", fail, { from: "earliest", maxAttempts: 1 });
  await giveUp(0, LETTERS);
});
afterEach(() => bus.close());

describe("pages of dead letters", () => {
  it("are together what there is, in both orders, whatever is looked for and however long they are", async () => {
    const choice = fc.constantFrom({}, { key: "k3" }, { key: "none" });
    const all = fc.record({
      newestFirst: fc.boolean(),
      choice,
      limit: fc.integer({ min: 1, max: LETTERS + 1 }),
    });
    await fc.assert(
      fc.asyncProperty(all, async ({ newestFirst, choice: { key }, limit }) => {
        const query = { newestFirst, ...(key !== undefined && { key }) };
        const whole: string[] = [];
        for await (const letter of deadLetters(bus, topic, query)) whole.push(letter.id);
        const paged: string[] = [];
        for (let after: string | undefined; ; ) {
          const page = await letterPage(bus, topic, query, { limit, ...(after !== undefined && { after }) });
          expect(page.items.length).toBeLessThanOrEqual(limit);
          paged.push(...page.items.map((text) => (JSON.parse(text) as { id: string }).id));
          if (page.next === null) break;
          expect(page.items.length).toBe(limit);
          after = page.next;
        }
        expect(paged).toEqual(whole);
      }),
      { numRuns: 40 },
    );
  });

  it("of the newest go on where they were, though others come", async () => {
    const first = await letterPage(bus, topic, { newestFirst: true }, { limit: 100 });
    await giveUp(LETTERS, LETTERS + 20);
    const rest = await letterPage(
      bus,
      topic,
      { newestFirst: true },
      { limit: 1_000, after: String(first.next) },
    );
    const numbers = [...first.items, ...rest.items].map(
      (text) => (JSON.parse(text) as { event: { payload: { n: number } } }).event.payload.n,
    );
    expect(numbers).toHaveLength(LETTERS);
    expect(new Set(numbers).size).toBe(LETTERS);
    expect(Math.max(...numbers)).toBe(LETTERS - 1);
  });

  it("P13: are full, too, when they are large", async () => {
    const fail = (): never => {
      throw new Error("no");
    };
    await bus.defineTopic({ name: "large", partitions: 1 });
    await bus.subscribe("large", "mailer", fail, { from: "earliest", maxAttempts: 1 });
    for (let n = 0; n < 6; n++) await bus.publish("large", { n, text: "x".repeat(900_000) });
    await expect.poll(async () => (await summarizeDeadLetters(bus, "large")).open).toBe(6);
    const first = await letterPage(bus, "large", {}, { limit: 100 });
    const rest = await letterPage(bus, "large", {}, { limit: 100, after: String(first.next) });
    expect([first.items.length, rest.items.length, rest.next]).toEqual([5, 1, null]);
  });

  it("P13: leave the event loop its turns", async () => {
    const turns = await turnsDuring(() => letterPage(bus, topic, { key: "none" }, { limit: 1 }));
    expect(turns).toBeGreaterThanOrEqual(3);
  });

  it.each(["", "0:", "0:1,", "9999999:1", "-1:1", "nobody"])(
    "%o is no place to go on from",
    async (after) => {
      for (const newestFirst of [true, false])
        await expect(letterPage(bus, topic, { newestFirst }, { limit: 1, after })).rejects.toMatchObject({
          code: "BAD_REQUEST",
        });
    },
  );
});
