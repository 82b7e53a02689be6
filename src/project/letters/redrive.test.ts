/** Redrives by a clock that stands still: what they wait for, how fast they go, where they end, and what they tell. */
import { describe, expect, it } from "vitest";
import { forever, recorder, useBench } from "../../../test/support/bus-bench.js";
import type { Bus } from "../../bus/bus.js";
import { Fatal } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import type { Stop } from "../../model/event-bus.js";
import { jumpHash } from "../../model/partition.js";
import { REDRIVE_GROUP_HEADER } from "../../model/topic.js";
import { replay } from "../transfer/replay.js";
import { movePointer, readPointer } from "../views/view-pointer.js";
import { deadLetters, summarizeDeadLetters } from "./dead-letters.js";
import { type RedriveOptions, type RedriveResult, redrive } from "./redrive.js";

const bench = useBench();
const TOPIC = "orders";
const GROUP = "mailer";

/** Fails on what is in `broken`, at once and for good. */
async function subscribe(
  bus: Bus,
  broken: ReadonlySet<unknown>,
  o: { hold?: boolean; act?: () => unknown } = {},
): Promise<{ payloads(): unknown[]; stop: Stop }> {
  const { handler, payloads } = recorder(({ payload }) => {
    if (broken.has(payload)) throw new Fatal(`cannot take ${payload}`);
    return o.act?.();
  });
  const options = { from: "earliest", ...(o.hold && { deadLetter: "hold" as const }) } as const;
  return { payloads, stop: await bus.subscribe(TOPIC, GROUP, handler, options) };
}

/** All of these are dead letters, of keys by their first letter. */
async function lettersOf(bus: Bus, payloads: readonly string[]): Promise<void> {
  const { stop } = await subscribe(bus, new Set(payloads));
  for (const payload of payloads) await bus.publish(TOPIC, payload, { key: payload.charAt(0) });
  await bench().advance(1_000);
  void stop();
  await bench().advance(1_000);
  expect(await open(bus)).toEqual(payloads);
}

async function open(bus: Bus): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { event } of deadLetters(bus, TOPIC)) found.push(event.payload);
  return found;
}

async function readAll(bus: Bus, topic: string): Promise<EventRecord[]> {
  const events: EventRecord[] = [];
  for await (const event of bus.read(topic)) events.push(event);
  return events;
}

/** What it has come to so far. */
function begun(bus: Bus, options: Omit<RedriveOptions, "topic"> = {}): { result?: RedriveResult } {
  const going: { result?: RedriveResult } = {};
  void redrive(bus, { topic: TOPIC, ...options }).then((result) => Object.assign(going, { result }));
  return going;
}

async function redriven(bus: Bus): Promise<number> {
  return (await summarizeDeadLetters(bus, TOPIC)).redriven;
}

describe("a redrive", () => {
  it("keeps its rate, and waits for nothing once the last letter is back", async () => {
    const bus = await bench().bus();
    await lettersOf(bus, ["a1", "b1", "c1"]);
    const going = begun(bus, { rate: 0.5 });
    const after: number[] = [];
    for (const ms of [0, 1_990, 20, 1_970]) {
      await bench().advance(ms);
      after.push(await redriven(bus));
    }
    expect(after).toEqual([1, 1, 2, 2]);
    expect(going.result).toBeUndefined();
    await bench().advance(20);
    expect(going.result).toMatchObject({ redriven: 3 });
  });

  it("that is told to stop while it waits brings nothing more back", async () => {
    const bus = await bench().bus();
    await lettersOf(bus, ["a1", "b1"]);
    const over = new AbortController();
    const going = begun(bus, { rate: 0.001, signal: over.signal });
    await bench().advance(1_000);
    over.abort();
    await bench().advance(0);
    expect(going.result).toMatchObject({ redriven: 1 });
    expect(await open(bus)).toEqual(["b1"]);
  });

  it("takes those that are named by id, and refuses ids that are no list, and topics that are not there", async () => {
    const bus = await bench().bus();
    await lettersOf(bus, ["a1", "b1"]);
    const { value } = await deadLetters(bus, TOPIC).next();
    for (const ids of [value?.id, 5])
      await expect(redrive(bus, { topic: TOPIC, ids: ids as never })).rejects.toMatchObject({
        code: "INVALID_OPTION",
        message: "ids must be an array",
      });
    await expect(redrive(bus, { topic: "ordres" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    for (const none of [{ ids: [] }, { limit: 0 }])
      expect(await redrive(bus, { topic: TOPIC, ...none })).toMatchObject({ redriven: 0 });
    expect(await redrive(bus, { topic: TOPIC, ids: [value?.id as string] })).toMatchObject({ redriven: 1 });
    expect(await open(bus)).toEqual(["b1"]);
  });

  it("is noted in the audit with who, how much and where to; a dry run is not", async () => {
    const bus = await bench().bus();
    await lettersOf(bus, ["a1", "b1"]);
    await redrive(bus, { topic: TOPIC, dryRun: true, actor: "ada" });
    expect(await bus.store.registry.audits({ limit: 9 })).toEqual([]);
    await redrive(bus, { topic: TOPIC, key: "a", actor: "ada" });
    await redrive(bus, { topic: TOPIC, to: "repairs" });
    expect(await bus.store.registry.audits({ limit: 9 })).toMatchObject([
      { actor: "bus", target: TOPIC, details: { redriven: 1, to: "repairs" } },
      { actor: "ada", action: "dead-letters.redrive", target: TOPIC, details: { redriven: 1, to: TOPIC } },
    ]);
  });

  it("is noted in the audit with what came back before it failed", async () => {
    const bus = await bench().bus();
    await lettersOf(bus, ["a", "b", "c"]);
    const transform: RedriveOptions["transform"] = ({ payload }) => {
      if (payload === "c") throw new Error("cannot mend this");
      return { payload };
    };
    let failure: unknown;
    void redrive(bus, { topic: TOPIC, actor: "ada", transform, rate: 1_000 }).catch((error: unknown) => {
      failure = error;
    });
    await bench().advance(10_000);
    expect(failure).toMatchObject({ message: expect.stringContaining("cannot mend this") });
    const came = (await readAll(bus, TOPIC)).length - 3;
    expect(came).toBeGreaterThan(0);
    expect(await bus.store.registry.audits({ limit: 1 })).toMatchObject([
      { actor: "ada", action: "dead-letters.redrive", details: { redriven: came, complete: false } },
    ]);
  });

  it("P5, P8: what fails again is a letter for all who read the dead letters, and for their replay", async () => {
    const bus = await bench().bus();
    const { stop } = await subscribe(bus, new Set(["a1"]));
    const { seen, handler } = recorder();
    await bus.subscribe(`dlq.${TOPIC}`, "alarm", handler, { from: "earliest" });
    await bus.publish(TOPIC, "a1", { key: "a", headers: { "x-a": "1" } });
    await bench().advance(1_000);
    expect(await redrive(bus, { topic: TOPIC })).toMatchObject({ redriven: 1 });
    await bench().advance(1_000);
    expect(seen.map(({ seq }) => seq)).toEqual([1, 2]);
    const letters = await readAll(bus, `dlq.${TOPIC}`);
    expect(letters.map(({ headers }) => headers?.["x-a"])).toEqual(["1", "1"]);
    expect(letters.map(({ headers }) => headers?.[REDRIVE_GROUP_HEADER])).toEqual([undefined, undefined]);
    const copying = replay(bus, { from: `dlq.${TOPIC}`, to: "copies" });
    await bench().advance(1_000);
    expect(await copying).toMatchObject({ events: 2, passedOver: 0 });
    await stop();
  });

  it("P8: an event comes back with all it had, and says what it comes from", async () => {
    const bus = await bench().bus();
    const { stop } = await subscribe(bus, new Set(["a1"]));
    const more = { headers: { "x-a": "1" }, tags: ["t"], sid: "s" };
    const { id } = await bus.publish(TOPIC, "a1", { key: "a", ...more });
    await bench().advance(1_000);
    const { value: letter } = await deadLetters(bus, TOPIC).next();
    await redrive(bus, { topic: TOPIC, allGroups: true });
    const [, back] = await readAll(bus, TOPIC);
    expect(back).toMatchObject({ key: "a", payload: "a1", ...more, caused_by: [letter?.id, id] });
    expect(back?.headers).toEqual(more.headers);
    await stop();
  });

  it("P8: one that came back and failed again is, in another topic, for all groups there", async () => {
    const bus = await bench().bus();
    await lettersOf(bus, ["a1"]);
    const { stop } = await subscribe(bus, new Set(["a1"]));
    expect(await redrive(bus, { topic: TOPIC })).toMatchObject({ redriven: 1 });
    await bench().advance(1_000);
    await redrive(bus, { topic: TOPIC, to: "repairs" });
    expect((await readAll(bus, "repairs")).map(({ headers = {} }) => headers)).toEqual([{}]);
    await stop();
  });

  it("P4: under another key an event goes where that belongs, as a new one of it", async () => {
    const bus = await bench().bus();
    await bus.defineTopic({ name: TOPIC, partitions: 4 });
    const key = ["b", "c", "d", "e"].find((one) => jumpHash(one, 4) !== jumpHash("a", 4)) as string;
    await lettersOf(bus, ["a1"]);
    await redrive(bus, { topic: TOPIC, transform: ({ payload }) => ({ payload, key }) });
    expect((await readAll(bus, TOPIC)).find((event) => event.key === key)).toMatchObject({
      partition: jumpHash(key, 4),
      headers: { [REDRIVE_GROUP_HEADER]: GROUP },
    });
    for (const { headers = {} } of await readAll(bus, TOPIC))
      expect(Object.keys(headers)).not.toContain("x-redrive-seq");
  });

  it("P13: no more than 128 letters are on their way at a time", async () => {
    const bus = await bench().bus();
    await lettersOf(
      bus,
      Array.from({ length: 130 }, (_, n) => `a${n}`),
    );
    const told: number[] = [];
    await redrive(bus, { topic: TOPIC, onProgress: ({ redriven: n }) => told.push(n) });
    expect(told).toEqual([128, 130]);
  });

  it("holds in a dry run what the handler writes against the build of the view that counts", async () => {
    const bus = await bench().bus();
    await lettersOf(bus, ["a1", "b1"]);
    const { registry, documents } = bus.store;
    const target = { current: "mails__2", previous: "mails", number: 2 };
    await movePointer(registry, "mails", await readPointer(registry, "mails"), target);
    for (const view of ["mails", "mails__2"])
      await documents.write(view, [{ op: "upsert", key: "a", ts: 1, fields: { sent: view } }]);
    const { preview } = await redrive(bus, {
      topic: TOPIC,
      dryRun: true,
      handler: ([event], tx) =>
        tx.view("mails").upsert("a", { sent: event?.key === "a" ? "mails__2" : "anew" }),
    });
    expect(preview?.map(({ differences }) => differences)).toEqual([
      [],
      [{ view: "mails", key: "a", before: { sent: "mails__2" }, after: { sent: "anew" } }],
    ]);
  });

  it("counts, shows and tells in a dry run what it would do, and what the handler fails on", async () => {
    const bus = await bench().bus();
    await lettersOf(bus, ["a1", "b1", "c1"]);
    const told: number[] = [];
    const handled: unknown[] = [];
    const result = await redrive(bus, {
      topic: TOPIC,
      dryRun: true,
      limit: 2,
      transform: ({ payload }) => ({ payload: `${payload}!` }),
      handler: ([event]) => {
        handled.push(event?.payload);
        if (event?.key === "b") throw new Error("still no");
      },
      onProgress: ({ redriven: n }) => told.push(n),
    });
    expect(result).toMatchObject({ redriven: 2, passedOver: 0 });
    expect(result.preview?.map(({ error }) => error)).toEqual([
      undefined,
      expect.stringContaining("still no"),
    ]);
    expect({ handled, told }).toEqual({ handled: ["a1!", "b1!"], told: [1, 2] });
    expect(await open(bus)).toHaveLength(3);
  });
});

describe("a redrive of keys that are held", () => {
  /** Of key a: the first failed, the others follow it. */
  async function held(broken: Set<unknown>, payloads: readonly string[], act?: () => unknown) {
    const bus = await bench().bus();
    const group = await subscribe(bus, broken, { hold: true, ...(act && { act }) });
    for (const payload of payloads) await bus.publish(TOPIC, payload, { key: "a" });
    await bench().advance(1_000);
    expect(await open(bus)).toEqual(payloads);
    return { bus, ...group };
  }

  it("waits for no group that nobody works for", async () => {
    const { bus, stop } = await held(new Set(["a1"]), ["a1", "a2"]);
    void stop();
    await bench().advance(1_000);
    const going = begun(bus);
    await bench().advance(0);
    expect(going.result).toMatchObject({ redriven: 2, held: 1 });
  });

  it("waits five seconds for a handler that takes its time, and no longer", async () => {
    const broken = new Set<unknown>(["a1"]);
    const { bus } = await held(broken, ["a1", "a2"], forever);
    broken.clear();
    const going = begun(bus);
    await bench().advance(4_900);
    expect(going.result).toBeUndefined();
    await bench().advance(200);
    expect(going.result).toMatchObject({ redriven: 2, held: 1 });
  });

  it("P4: an event keeps its key, whatever a transform says", async () => {
    const broken = new Set<unknown>(["a1"]);
    const { bus, payloads } = await held(broken, ["a1", "a2"]);
    const transform = ({ payload }: { payload: unknown }) => ({ payload: `${payload}!`, key: "b" });
    const going = begun(bus, { transform });
    await bench().advance(1_000);
    expect(going.result).toEqual({ topic: TOPIC, redriven: 2, passedOver: 0, superseded: 0 });
    expect(payloads()).toEqual(["a1", "a1!", "a2!"]);
    expect(new Set((await readAll(bus, TOPIC)).map(({ key }) => key))).toEqual(new Set(["a"]));
  });

  it("ends at once when it is told to, whoever is still at work", async () => {
    const broken = new Set<unknown>(["a1"]);
    const { bus } = await held(broken, ["a1", "a2"], forever);
    broken.clear();
    const over = new AbortController();
    const going = begun(bus, { signal: over.signal });
    await bench().advance(1_000);
    expect(going.result).toBeUndefined();
    over.abort();
    await bench().advance(0);
    expect(going.result).toMatchObject({ redriven: 2, held: 1 });
  });

  it("ends as soon as the letter that failed again is one, or as many are back as it may bring", async () => {
    const broken = new Set<unknown>(["a1", "a2"]);
    const { bus, payloads } = await held(broken, ["a1", "a2", "a3", "a4"]);
    broken.delete("a1");
    const first = begun(bus, { limit: 1 });
    await bench().advance(1_000);
    expect(first.result).toMatchObject({ redriven: 1, held: 1 });
    const second = begun(bus);
    await bench().advance(1_000);
    expect(second.result).toMatchObject({ redriven: 3, held: 1 });
    expect(payloads()).toEqual(["a1", "a1", "a2"]);
  });

  it("P4: letters that go to another topic are for all of its groups, and wait for nothing there", async () => {
    const { bus } = await held(new Set(["a1"]), ["a1", "a2"]);
    await redrive(bus, { topic: TOPIC, to: "repairs" });
    const { handler, payloads } = recorder();
    await bus.subscribe("repairs", "others", handler, { from: "earliest" });
    await bench().advance(1_000);
    expect(payloads()).toEqual(["a1", "a2"]);
    for (const { headers = {} } of await readAll(bus, "repairs")) expect(headers).toEqual({});
  });
});
