import { beforeEach, describe, expect, it, vi } from "vitest";
import { draft } from "../../../test/support/stored-events.js";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import type { PartitionHead } from "../../ports/log.js";
import { memoryStore } from "../../stores/memory/index.js";
import { LetterOutcomes } from "./letter-outcomes.js";

const LETTERS = "dlq.orders";

let bus: Bus;
beforeEach(async () => {
  bus = await createBus({ store: memoryStore(), topics: [{ name: LETTERS, partitions: 1 }] });
  return () => bus.close();
});

/** Letters, each with what became of it. */
async function settled(count: number): Promise<PartitionHead> {
  const ids = Array.from({ length: count }, (_, n) => `letter ${n}`);
  await bus.store.log.append(
    LETTERS,
    0,
    ids.map((id) => draft(id)),
  );
  await bus.store.documents.write(
    LETTERS,
    ids.map((key) => ({ op: "upsert", key, version: 1, ts: 1, fields: { status: "discarded" } })),
  );
  const [head] = await bus.store.log.heads(LETTERS);
  return head as PartitionHead;
}

const left = async (): Promise<number> => (await bus.store.documents.views())[0]?.documents ?? 0;

describe("what became of letters that retention takes", () => {
  it("goes with them, however many there are, and nothing else does", async () => {
    const head = await settled(10_301);
    const outcomes = new LetterOutcomes(bus, LETTERS);
    await outcomes.tidy(new AbortController().signal);
    expect(await outcomes.trim(head, LETTERS, 10_201)).toBe(10_201);
    await outcomes.tidy(new AbortController().signal);
    expect(await left()).toBe(100);
    await outcomes.trim({ ...head, low: 10_202 }, LETTERS, 10_251);
    expect(await left()).toBe(50);
  });

  it("is looked through by the next round, if one was stopped in the middle", async () => {
    await settled(450);
    await bus.store.log.trim(LETTERS, 0, 450);
    const outcomes = new LetterOutcomes(bus, LETTERS);
    await outcomes.tidy(AbortSignal.abort());
    expect(await left()).toBe(250);
    await outcomes.tidy(new AbortController().signal);
    expect(await left()).toBe(0);
    // Once all of it was, there is nothing to look for.
    const find = vi.spyOn(bus.store.documents, "find");
    await outcomes.tidy(new AbortController().signal);
    expect(find).not.toHaveBeenCalled();
  });
});
