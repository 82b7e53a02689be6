import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import { BusError } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import { memoryStore } from "../../stores/memory/index.js";
import { SchemaRegistry } from "./registry.js";
import { compactedIn, Tombstones } from "./tombstones.js";
import { withSchemaValidation } from "./validation-layer.js";

const topic = "kv.entries";
let bus: Bus;
let checked: Bus;

beforeEach(async () => {
  bus = await createBus({ store: memoryStore() });
  const schemas = new SchemaRegistry();
  schemas.register({ topic, version: 1, schema: z.object({ value: z.number() }) });
  checked = withSchemaValidation(bus, schemas);
});
afterEach(() => bus.close());

async function stored(): Promise<unknown[]> {
  const events: EventRecord[] = [];
  for await (const event of bus.read(topic)) events.push(event);
  return events.map(({ payload }) => payload);
}

describe("null in a topic with a schema", () => {
  it("is a tombstone if the store compacts the topic, and a violation if not", async () => {
    await bus.defineTopic({ name: topic });
    await expect(checked.publish(topic, null, { key: "k" })).rejects.toMatchObject({
      code: "SCHEMA_VIOLATION",
    });
    await bus.defineTopic({ name: topic, compaction: true });
    await checked.publish(topic, null, { key: "k" });
    await checked.publish(`${topic}.v2`, null, { key: "k" });
    expect(await stored()).toEqual([null]);
  });

  it("P4: is not overtaken by what is published after it, though it must be asked first", async () => {
    await bus.defineTopic({ name: topic, compaction: true });
    const payloads = [{ value: 1 }, null, { value: 2 }, null, { value: 3 }];
    await Promise.all(payloads.map((payload) => checked.publish(topic, payload, { key: "k" })));
    expect(await stored()).toEqual(payloads);
  });

  it("fails with what the store says if that cannot be asked, and others of its topic go on", async () => {
    const asked: string[] = [];
    const registry = {
      topic: async (name: string) => {
        asked.push(name);
        if (asked.length === 1) throw new BusError("STORE_UNAVAILABLE", "no connection");
        return { name, partitions: 1, compaction: true };
      },
    };
    const layered = withSchemaValidation(
      { with: (layer) => bus.with(layer), store: { registry } },
      new SchemaRegistry(),
    );
    const [first, second] = await Promise.allSettled([
      layered.publish(topic, null, { key: "k" }),
      layered.publish(topic, { value: 1 }, { key: "k" }),
    ]);
    expect([first.status, second.status]).toEqual(["rejected", "fulfilled"]);
    await layered.publish(topic, null, { key: "k" });
    await layered.publish(topic, null, { key: "k" });
    expect(asked).toEqual([topic, topic]);
    expect(await stored()).toEqual([{ value: 1 }, null, null]);
  });
});

describe("the question whether a topic has tombstones", () => {
  it("is asked once for all that wait, and forgotten when the last one has left", async () => {
    let asked = 0;
    const tombstones = new Tombstones(async () => ++asked > 0);
    const questions = [null, 1, null].map((payload) => tombstones.question({ topic, payload }));
    expect(await Promise.all(questions.map((question) => question?.answer))).toEqual([true, false, true]);
    expect(tombstones.question({ topic, payload: 2 })).toBeDefined();
    for (const question of [...questions, questions[1]]) question?.leave();
    expect([asked, tombstones.question({ topic, payload: 3 })]).toEqual([1, undefined]);
  });

  it("has no answer but no where there is no store", () => {
    expect(compactedIn(undefined)(topic)).toBe(false);
  });
});
