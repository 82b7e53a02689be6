/** Events that MongoDB will not have, among others that it takes: each publisher is told of its own. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createBus } from "../../../src/bus/create-bus.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { TestDatabase } from "../../support/mongo/database.js";

let database: TestDatabase;

beforeEach(async () => {
  database = await TestDatabase.create();
});
afterEach(() => database.dispose());

const MIB = 1_048_576;

/** Publishes all of them at once, to one partition; the codes of those that failed, and what is in the log. */
async function publishAll(
  layout: "documents" | "batches",
  payloads: readonly string[],
): Promise<{ codes: unknown[]; logged: unknown[] }> {
  const bus = await createBus({
    store: mongoStore({ url: database.url, db: database.name }),
    topics: [{ name: "orders", partitions: 1, layout }],
    limits: { maxPayloadBytes: 32 * MIB, maxBatchBytes: 64 * MIB },
  });
  try {
    await bus.publish("orders", "first");
    if (layout === "documents")
      await database.db.command({ collMod: "events", validator: { payload: { $ne: '"forbidden"' } } });
    const answers = await Promise.allSettled(payloads.map((payload) => bus.publish("orders", payload)));
    const logged: unknown[] = [];
    for await (const { payload, seq } of bus.read("orders")) {
      logged.push(payload);
      expect(seq).toBe(logged.length);
    }
    const codes = answers.map((answer) => (answer.status === "rejected" ? answer.reason.code : "stored"));
    return { codes, logged };
  } finally {
    await bus.close();
  }
}

describe("an event that the server refuses", () => {
  it("P1: for what a validator says of it fails alone, and those behind it keep their order", async () => {
    const payloads = ["a", "forbidden", "b", "c", "forbidden", "forbidden", "d"];
    const { codes, logged } = await publishAll("documents", payloads);
    expect(codes).toEqual(payloads.map((payload) => (payload === "forbidden" ? "INTERNAL" : "stored")));
    expect(logged).toEqual(["first", "a", "b", "c", "d"]);
  });

  it.each(["documents", "batches"] as const)("P1: for its size fails alone, kept as %s", async (layout) => {
    const large = [16, 17, 20].map((mib) => "x".repeat(mib * MIB));
    const { codes, logged } = await publishAll(layout, ["a", "b", ...large, "c"]);
    expect(codes).toEqual(["stored", "stored", ...large.map(() => "PAYLOAD_TOO_LARGE"), "stored"]);
    expect(logged).toEqual(["first", "a", "b", "c"]);
  });
});
