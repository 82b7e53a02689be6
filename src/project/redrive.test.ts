/** Redrives by a clock that stands still: what they wait for, how fast they go, where they end, and what they tell. */
import { describe, expect, it } from "vitest";
import { forever, recorder, useBench } from "../../test/support/bus-bench.js";
import type { Bus } from "../bus/bus.js";
import { Fatal } from "../model/errors.js";
import type { Stop } from "../model/event-bus.js";
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

  it("takes those that are named by id, and refuses ids that are no list", async () => {
    const bus = await bench().bus();
    await lettersOf(bus, ["a1", "b1"]);
    const { value } = await deadLetters(bus, TOPIC).next();
    for (const ids of [value?.id, 5])
      await expect(redrive(bus, { topic: TOPIC, ids: ids as never })).rejects.toMatchObject({
        code: "INVALID_OPTION",
        message: "ids must be an array",
      });
    expect(await redrive(bus, { topic: TOPIC, ids: [] })).toMatchObject({ redriven: 0 });
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

  it("P8: an event comes back with all it had, and says what it comes from", async () => {
    const bus = await bench().bus();
    const { stop } = await subscribe(bus, new Set(["a1"]));
    const more = { headers: { "x-a": "1" }, tags: ["t"], sid: "s" };
    const { id } = await bus.publish(TOPIC, "a1", { key: "a", ...more });
    await bench().advance(1_000);
    const { value: letter } = await deadLetters(bus, TOPIC).next();
    await redrive(bus, { topic: TOPIC, allGroups: true });
    const transform = () => ({ payload: "b2", key: "b" });
    await redrive(bus, { topic: TOPIC, to: "repairs", transform });
    const back = await bus.store.log.read(TOPIC, 0, { after: 1, limit: 9 });
    expect(back.events.map(({ record }) => record)).toMatchObject([
      { key: "a", payload: "a1", ...more, caused_by: [letter?.id, id] },
    ]);
    expect(back.events[0]?.record.headers).toEqual(more.headers);
    await stop();
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
    for await (const { headers } of bus.read("repairs")) expect(Object.keys(headers ?? {})).toEqual([]);
  });
});
