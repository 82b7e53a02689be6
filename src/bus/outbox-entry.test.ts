import { expect, it } from "vitest";
import { z } from "zod";
import { defineTopic } from "../model/topic.js";
import { memoryStore } from "../stores/memory/index.js";
import { outboxEntry } from "./outbox-entry.js";

const Placed = defineTopic("orders.placed", {
  schema: z.object({ order: z.string(), total: z.number().nonnegative() }),
  key: ({ order }) => order,
});

it("P10: an entry that its topic would refuse fails before it is added, with the places", () => {
  expect(() => outboxEntry(Placed, { order: "o-1", total: -5 }, { id: "o-1" })).toThrow(
    expect.objectContaining({
      code: "SCHEMA_VIOLATION",
      details: expect.objectContaining({ issues: [expect.objectContaining({ path: "payload.total" })] }),
    }),
  );
  // @ts-expect-error: the compiler refuses it, too
  expect(() => outboxEntry(Placed, { order: "o-1" }, { id: "o-1" })).toThrow("payload.total");
});

it("is what publishing would store, under the key of the definition unless another is given", async () => {
  const payload = { order: "o-1", total: 5, undeclared: true };
  const entry = outboxEntry(Placed, payload, { id: "e-1", headers: { "x-a": "b" } });
  expect(entry).toEqual({
    ...{ id: "e-1", topic: "orders.placed", key: "o-1", headers: { "x-a": "b" } },
    payload: { order: "o-1", total: 5 },
  });
  expect(outboxEntry(Placed, payload, { id: "e-1", key: "ada" }).key).toBe("ada");
  const { outbox } = memoryStore();
  await outbox.add(entry);
  expect(await outbox.list({ status: "pending" })).toMatchObject([entry]);
});
