/** Events that are as large as MongoDB takes them, and that a group gives up: their letters would be larger still. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Bus } from "../../../src/bus/bus.js";
import { createBus } from "../../../src/bus/create-bus.js";
import { Fatal } from "../../../src/model/errors.js";
import type { EventRecord } from "../../../src/model/event.js";
import type { TopicLayout } from "../../../src/model/topic.js";
import { deadLetters, type Letter } from "../../../src/project/letters/dead-letters.js";
import { redrive } from "../../../src/project/letters/redrive.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { eventually } from "../../support/eventually.js";
import { TestDatabase } from "../../support/mongo/database.js";

const MIB = 1_048_576;

let database: TestDatabase;
let bus: Bus;

async function lettersOf(topic: string): Promise<Letter[]> {
  const letters: Letter[] = [];
  for await (const letter of deadLetters(bus, topic, { status: "any" })) letters.push(letter);
  return letters;
}

beforeEach(async () => {
  database = await TestDatabase.create();
  bus = await createBus({
    store: mongoStore({ url: database.url, db: database.name }),
    limits: { maxPayloadBytes: 16 * MIB, maxMetaChars: MIB },
    onTrouble: () => undefined,
  });
});
afterEach(async () => {
  await bus.close();
  await database.dispose();
});

/** Events of a batch have 64 KiB less than a document; headers stand in a letter twice. */
const LONG = "h".repeat(100_000);

describe.each<[TopicLayout, number, string]>([
  ["documents", 16 * MIB - 1_000, "1"],
  ["batches", 16 * MIB - 65_536 - LONG.length - 500, LONG],
])("in a topic kept as %s", (layout, bytes, header) => {
  const payload = "x".repeat(bytes);
  const headers = { "x-a": header };

  beforeEach(async () => {
    for (const name of ["t", "dlq.t"]) await bus.defineTopic({ name, partitions: 1, layout });
  });

  /** The large event is given up, and the next of its key is handled. */
  async function giveUp(): Promise<EventRecord> {
    const event = await bus.publish("t", payload, { key: "k", headers });
    await bus.publish("t", "small", { key: "k" });
    const handled: unknown[] = [];
    const stop = await bus.subscribe(
      "t",
      "g",
      ({ payload: got }) => {
        if (got !== "small") throw new Fatal("no use");
        handled.push(got);
      },
      { from: "earliest" },
    );
    await eventually(() => handled.length === 1, "the group goes on");
    await stop();
    return event;
  }

  it("P8, P15: one that is given up stands among the dead letters, whole, and the group goes on", async () => {
    const event = await giveUp();
    const [letter, ...others] = await lettersOf("t");
    expect(others).toEqual([]);
    expect(letter).toMatchObject({
      origin: { topic: "t", partition: 0, seq: 1, id: event.id, group: "g" },
      error: { message: "no use" },
      attempts: 1,
      event: { id: event.id, headers, key: "k" },
    });
    expect(letter?.event.payload === payload).toBe(true);
    expect(letter).not.toHaveProperty("incomplete");
  });

  it("P8: it comes back from there", async () => {
    await giveUp();
    expect(await redrive(bus, { topic: "t" })).toMatchObject({ redriven: 1, passedOver: 0 });
    const got: boolean[] = [];
    await bus.subscribe("t", "g", (event) => void got.push(event.payload === payload));
    await eventually(() => got.length === 1, "it is handled");
    expect(got).toEqual([true]);
  });

  it("P8: once the log no longer has it, its letter says so, and does not come back as something else", async () => {
    const event = await giveUp();
    await bus.store.log.trim("t", 0, 1);
    const [letter] = await lettersOf("t");
    expect(letter?.event.payload === null).toBe(true);
    expect(letter).toMatchObject({ incomplete: true, event: { id: event.id, key: "k" }, status: "open" });
    expect(await redrive(bus, { topic: "t" })).toMatchObject({ redriven: 0, passedOver: 1 });
    const transform = () => ({ payload: "made anew" });
    expect(await redrive(bus, { topic: "t", transform })).toMatchObject({ redriven: 1 });
  });
});
