/** Whatever is done to a topic of batches, in whatever order, by two processes: it answers as a plain list would. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { StoredEvent } from "../../../src/model/event.js";
import type { Log, Page } from "../../../src/ports/log.js";
import { memoryStore } from "../../../src/stores/memory/index.js";
import { draft, T0 } from "../../../src/testing/conformance/samples.js";
import { TestDatabase } from "../../support/mongo/database.js";
import { passTime } from "../../support/mongo/logical-time.js";
import { ReplicaSet } from "../../support/mongo/replica-set.js";

const PARTITIONS = 2;
const KEYS = ["a", "b", "c"];

const partition = fc.nat({ max: PARTITIONS - 1 });
const seq = fc.nat({ max: 80 });
const limit = fc.integer({ min: 1, max: 30 });
const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("append" as const),
      partition,
      count: limit,
      by: fc.nat({ max: 1 }),
      fresh: fc.boolean(),
      ts: fc.nat({ max: 50 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("repeat" as const), partition, nth: seq }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("trim" as const), partition, to: seq }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("remove" as const),
      partition,
      seqs: fc.array(seq, { maxLength: 30 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("sleep" as const) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("read" as const), partition, after: seq, limit }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("history" as const),
      key: fc.constantFrom(...KEYS),
      after: seq,
      through: seq,
      limit,
      newestFirst: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("seqAt" as const), partition, ts: fc.nat({ max: 60 }) }),
  },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

function places(events: Iterable<StoredEvent>): string[] {
  return [...events].map((event) => `${event.partition}/${event.seq}/${event.id}/${event.body.text}`);
}

/** A page that has room left tells where the log ends; one that is full may stop anywhere behind its last event. */
function said({ events, through }: Page, wanted: number): unknown {
  return { events: places(events), through: events.length < wanted ? through : undefined };
}

/** What a log answers, in a form to compare. The drafts of an append are made once, for all logs. */
function asking(
  topic: string,
  o: Exclude<Operation, { type: "append" | "repeat" | "sleep" }>,
): (log: Log) => Promise<unknown> {
  switch (o.type) {
    case "trim":
      return (log) => log.trim(topic, o.partition, o.to);
    case "remove":
      return (log) => log.remove(topic, o.partition, o.seqs);
    case "read":
      return async (log) => said(await log.read(topic, o.partition, o), o.limit);
    case "history": {
      const { key, after, newestFirst, ...rest } = o;
      const options = newestFirst ? { ...rest, newestFirst } : { ...rest, after };
      return async (log) => places(await log.history(topic, key, options));
    }
    case "seqAt":
      return (log) => log.seqAt(topic, o.partition, T0 + o.ts);
  }
}

async function state(log: Log, topic: string): Promise<unknown> {
  const heads = (await log.heads(topic)).map(({ head, events }) => ({ head, events }));
  const latest = await log.latestByKey(topic, KEYS);
  return {
    heads,
    latest: KEYS.map((key) => places(latest.has(key) ? [latest.get(key) as StoredEvent] : [])),
  };
}

it("P2, P3, P11: whatever the order of appends, repeats, trims and removals, it answers as a list does", async () => {
  // Of its own: time is moved on it, and whoever else had events there would find them old.
  await using server = await ReplicaSet.start();
  const database = new TestDatabase(server.url);
  const [one, two] = [await database.open(), await database.open()];
  let topics = 0;
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.array(operation, { minLength: 5, maxLength: 30 }),
        fc.boolean(),
        async (operations, keyed) => {
          const topic = `t${++topics}`;
          const model = memoryStore();
          await model.open();
          await model.registry.defineTopic({ name: topic, partitions: PARTITIONS });
          await one.registry.defineTopic({ name: topic, partitions: PARTITIONS, layout: "batches", keyed });
          const appended: StoredEvent[] = [];
          for (const o of operations) {
            if (o.type === "sleep") await passTime(database.client, database.name, 60);
            else if (o.type === "append" || o.type === "repeat") {
              const drafts =
                o.type === "append"
                  ? Array.from({ length: o.count }, (_, i) =>
                      draft({
                        key: KEYS[i % 4] ?? "d",
                        ts: T0 + ((o.ts + i * 7) % 50),
                        freshId: o.fresh,
                        payload: i,
                      }),
                    )
                  : appended.slice(o.nth, o.nth + 3).map((event) => ({ ...draft(), id: event.id }));
              const by = o.type === "append" && o.by === 1 ? two : one;
              const expected = await model.log.append(topic, o.partition, drafts);
              const result = await by.log.append(topic, o.partition, drafts);
              expect(places(result.events)).toEqual(places(expected.events));
              expect(result.duplicates).toEqual(expected.duplicates);
              appended.push(...expected.events);
            } else {
              const ask = asking(topic, o);
              expect(await ask(two.log)).toEqual(await ask(model.log));
            }
            expect(await state(one.log, topic)).toEqual(await state(model.log, topic));
          }
          await model.close();
        },
      ),
      { numRuns: 15 },
    );
  } finally {
    await database.dispose();
  }
});
