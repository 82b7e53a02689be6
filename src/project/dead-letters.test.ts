import { describe, expect, it } from "vitest";
import { createBus } from "../bus/create-bus.js";
import { defineTopic } from "../model/topic.js";
import { memoryStore } from "../stores/memory/index.js";
import { deadLetters, discardDeadLetters, summarizeDeadLetters } from "./dead-letters.js";
import { redrive } from "./redrive.js";

type Bus = Awaited<ReturnType<typeof createBus>>;

const openLetters = async (bus: Bus, topic: string): Promise<string[]> => {
  const found: string[] = [];
  for await (const letter of deadLetters(bus, topic)) found.push(String(letter.event.payload));
  return found;
};

/** A bus whose group "mailer" fails on every payload that is in `broken`, beside a group that never fails. */
async function brokenMailer(
  partitions = 2,
): Promise<{ bus: Bus; broken: Set<string>; mailed: string[]; audited: string[] }> {
  const bus = await createBus({ store: memoryStore(), topics: [defineTopic("orders", { partitions })] });
  const broken = new Set<string>();
  const mailed: string[] = [];
  const audited: string[] = [];
  await bus.subscribe(
    "orders",
    "mailer",
    (event) => {
      if (broken.has(event.payload as string)) throw new Error(`cannot mail ${event.payload}`);
      mailed.push(event.payload as string);
    },
    { from: "earliest", maxAttempts: 2, retry: { baseMs: 1, maxMs: 1 } },
  );
  await bus.subscribe("orders", "audit", (event) => void audited.push(event.payload as string), {
    from: "earliest",
  });
  return { bus, broken, mailed, audited };
}

describe("dead letters", () => {
  it("P8: redrive brings them back in key order, to the group that gave them up and to no other", async () => {
    const { bus, broken, mailed, audited } = await brokenMailer();
    for (const payload of ["a1", "a2", "b1"]) broken.add(payload);
    for (const payload of ["a1", "a2", "a3", "b1", "b2"])
      await bus.publish("orders", payload, { key: payload[0] as string });
    await expect.poll(() => openLetters(bus, "orders").then((letters) => letters.length)).toBe(3);
    expect(await summarizeDeadLetters(bus, "orders")).toMatchObject({
      open: 3,
      byGroup: { mailer: 3 },
      byKey: { a: 2, b: 1 },
    });
    broken.clear();
    expect(await redrive(bus, { topic: "orders", group: "mailer" })).toMatchObject({
      redriven: 3,
      passedOver: 0,
    });
    await expect.poll(() => mailed.length).toBe(5);
    expect(mailed.filter((payload) => payload.startsWith("a"))).toEqual(["a3", "a1", "a2"]);
    expect(audited).toHaveLength(5);
    expect(await openLetters(bus, "orders")).toEqual([]);
    expect(await redrive(bus, { topic: "orders" })).toMatchObject({ redriven: 0 });
    expect((await bus.store.registry.audits({ limit: 5 })).map((entry) => entry.action)).toContain(
      "dead-letters.redrive",
    );
    await bus.close();
  });

  it("a dry run publishes nothing and shows what the handler would change", async () => {
    const { bus, broken } = await brokenMailer();
    broken.add("x");
    await bus.publish("orders", "x", { key: "k" });
    await expect.poll(() => openLetters(bus, "orders")).toEqual(["x"]);
    const result = await redrive(bus, {
      topic: "orders",
      dryRun: true,
      handler: async (events, tx) => {
        for (const event of events)
          await tx.view("mails").upsert(event.key as string, { sent: event.payload });
      },
    });
    expect(result.preview).toMatchObject([
      { differences: [{ view: "mails", key: "k", before: null, after: { sent: "x" } }] },
    ]);
    expect(await bus.view("mails").get("k")).toBeNull();
    expect(await openLetters(bus, "orders")).toEqual(["x"]);
    await bus.close();
  });

  it("a transform mends the payload, and a letter it answers with null stays", async () => {
    const { bus, broken, mailed } = await brokenMailer();
    broken.add("bad").add("hopeless");
    await bus.publish("orders", "bad");
    await bus.publish("orders", "hopeless");
    await expect.poll(() => openLetters(bus, "orders").then((letters) => letters.length)).toBe(2);
    const transform = (event: { payload: unknown }) =>
      event.payload === "bad" ? { payload: "mended" } : null;
    expect(await redrive(bus, { topic: "orders", transform })).toMatchObject({ redriven: 1, passedOver: 1 });
    await expect.poll(() => mailed).toEqual(["mended"]);
    expect(await openLetters(bus, "orders")).toEqual(["hopeless"]);
    await bus.close();
  });

  it("discards with a reason that the audit keeps", async () => {
    const { bus, broken } = await brokenMailer();
    broken.add("junk");
    await bus.publish("orders", "junk");
    await expect.poll(() => openLetters(bus, "orders")).toEqual(["junk"]);
    await expect(discardDeadLetters(bus, "orders", { reason: "" })).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
    expect(await discardDeadLetters(bus, "orders", { reason: "test order", actor: "ada" })).toBe(1);
    expect(await openLetters(bus, "orders")).toEqual([]);
    const [entry] = await bus.store.registry.audits({ limit: 1 });
    expect(entry).toMatchObject({
      actor: "ada",
      action: "dead-letters.discard",
      details: { discarded: 1, reason: "test order" },
    });
    await bus.close();
  });

  it("P11: on a compacted topic an overtaken event is not brought back over the newer value of its key", async () => {
    const bus = await createBus({
      store: memoryStore(),
      topics: [defineTopic("kv.set", { compaction: true })],
    });
    await bus.subscribe("kv.set", "g", (event) => expect(event.payload).not.toBe("old"), {
      from: "earliest",
      maxAttempts: 1,
    });
    await bus.publish("kv.set", "old", { key: "k" });
    await expect.poll(() => openLetters(bus, "kv.set")).toEqual(["old"]);
    await bus.publish("kv.set", "new", { key: "k" });
    expect(await redrive(bus, { topic: "kv.set" })).toMatchObject({ redriven: 0, superseded: 1 });
    expect((await bus.latestByKey("kv.set", ["k"]))["k"]?.payload).toBe("new");
    await bus.close();
  });
});
