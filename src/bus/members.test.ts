/** Several buses on one store: they share partitions, take over from each other, and fence each other (P7). */
import { describe, expect, it, vi } from "vitest";
import { forever, recorder, useBench } from "../../test/support/bus-bench.js";
import { gate, settled } from "../../test/support/eventually.js";
import { defineTopic } from "../model/topic.js";
import { type FaultPlan, type FaultyStore, faultyStore } from "../testing/faulty-store/index.js";
import { ProcessClock } from "../testing/simulator/process-clock.js";
import type { CallName } from "../testing/store-calls.js";
import type { Bus } from "./bus.js";

const bench = useBench();
const TOPIC = defineTopic("t.p", { partitions: 8 });
const LEASE_MS = 10_000;

/** A bus in a process of its own, so to speak: it can die, and it can sleep. */
class Frail {
  readonly clock = new ProcessClock(bench().clock, { seed: 1 });
  readonly line: FaultyStore;
  readonly bus: Promise<Bus>;

  /** A deaf one hears no signals, or none about groups. Of a slow call the answer takes 4 s. */
  constructor(options: { deaf?: true | "to groups"; slow?: CallName; leaseMs?: number } = {}) {
    const { deaf, slow } = options;
    const plan: FaultPlan = {
      call: ({ name }) => (name === slow ? { type: "delay", replyMs: 4_000 } : null),
      signal: ({ type }) => (deaf === true || (deaf && type === "group") ? { type: "drop" } : null),
    };
    this.line = faultyStore(bench().store, plan, { shared: true, clock: bench().clock });
    const { leaseMs = LEASE_MS } = options;
    this.bus = bench().bus({ store: this.line, clock: this.clock, topics: [TOPIC], leaseMs, drainMs: 2_000 });
  }

  crash(): void {
    this.line.crash();
    this.clock.kill();
  }

  sleep(): void {
    this.line.freeze();
    this.clock.freeze();
  }

  wake(): void {
    this.clock.thaw();
    this.line.thaw();
  }
}

const steady = (): Promise<Bus> => bench().bus({ topics: [TOPIC], leaseMs: LEASE_MS, drainMs: 2_000 });

const partitionsOf = (bus: Bus): number[] =>
  bus
    .owned("t.p", "g")
    .map(({ partition }) => partition)
    .sort((a, b) => a - b);

const ALL = [0, 1, 2, 3, 4, 5, 6, 7];
const EVENTS = Array.from({ length: 80 }, (_, i) => ({ payload: i, key: `k${i % 20}` }));

describe("two buses on one store", () => {
  it("share the partitions of a group, balanced, and each event goes to one of them", async () => {
    const [a, b] = [await steady(), await steady()];
    const [seenA, seenB] = [recorder(), recorder()];
    await a.subscribe("t.p", "g", seenA.handler);
    expect(partitionsOf(a)).toEqual(ALL);
    await b.subscribe("t.p", "g", seenB.handler);
    await bench().advance(2_000);
    expect(partitionsOf(a)).toHaveLength(4);
    expect([...partitionsOf(a), ...partitionsOf(b)].sort()).toEqual(ALL);
    await a.publishMany("t.p", EVENTS);
    await bench().advance(100);
    const all = [...seenA.payloads(), ...seenB.payloads()].sort((x, y) => Number(x) - Number(y));
    expect(all).toEqual(EVENTS.map(({ payload }) => payload));
    expect(seenA.seen.length).toBeGreaterThan(0);
    expect(seenB.seen.length).toBeGreaterThan(0);
    expect([...seenA.seen, ...seenB.seen].every(({ attempt }) => attempt === 1)).toBe(true);
  });

  it("P4, P5: a join in the middle of the work loses nothing, repeats nothing, and keeps every key in order", async () => {
    const [a, b] = [await steady(), await steady()];
    const done = new Map<string, unknown[]>();
    const handler = async (event: { key?: string; payload: unknown }): Promise<void> => {
      for (let hop = 0; hop < Number(event.payload) % 5; hop++) await settled(1);
      const key = event.key ?? "";
      done.set(key, [...(done.get(key) ?? []), event.payload]);
    };
    await a.subscribe("t.p", "g", handler, { maxInFlight: 3 });
    await a.publishMany("t.p", EVENTS);
    await settled(2);
    await b.subscribe("t.p", "g", handler, { maxInFlight: 3 });
    for (let i = 0; i < 40; i++) await bench().advance(50);
    for (let k = 0; k < 20; k++)
      expect(done.get(`k${k}`)).toEqual(
        EVENTS.filter(({ key }) => key === `k${k}`).map(({ payload }) => payload),
      );
    expect(partitionsOf(b)).toHaveLength(4);
  });

  it("one that closes hands everything over, cleanly: no event comes twice", async () => {
    const [a, b] = [await steady(), await steady()];
    const [seenA, seenB] = [recorder(), recorder()];
    await a.subscribe("t.p", "g", seenA.handler);
    await b.subscribe("t.p", "g", seenB.handler);
    await bench().advance(2_000);
    await a.publishMany("t.p", EVENTS.slice(0, 40));
    await settled();
    await a.close();
    await bench().advance(1_000);
    expect(partitionsOf(b)).toEqual(ALL);
    await b.publishMany("t.p", EVENTS.slice(40));
    await settled();
    const all = [...seenA.seen, ...seenB.seen];
    expect(all).toHaveLength(80);
    expect(all.every(({ attempt }) => attempt === 1)).toBe(true);
  });

  it("a group that only one of them serves stays with that one", async () => {
    const [a, b] = [await steady(), await steady()];
    await a.subscribe("t.p", "g", () => undefined);
    await b.subscribe("t.p", "other", () => undefined);
    await bench().advance(2_000);
    expect(partitionsOf(a)).toEqual(ALL);
    expect(b.owned("t.p", "other")).toHaveLength(8);
  });

  it("a partition that is given up waits for what still runs in it, up to the drain time, then goes without", async () => {
    const [a, b] = [await steady(), await steady()];
    const stuck = recorder(forever);
    await a.subscribe("t.p", "g", stuck.handler);
    await a.publishMany(
      "t.p",
      ALL.map((partition) => ({ payload: partition, partition })),
    );
    await settled();
    const seenB = recorder();
    await b.subscribe("t.p", "g", seenB.handler);
    await bench().advance(1_900);
    expect(partitionsOf(b)).toEqual([]);
    await bench().advance(1_000);
    expect(partitionsOf(b)).toHaveLength(4);
    expect(seenB.seen.map(({ payload }) => payload).sort()).toEqual(partitionsOf(b));
    expect(seenB.seen.every(({ attempt }) => attempt === 2)).toBe(true);
  });
});

describe("silence", () => {
  it("P15: a bus that dies loses its partitions after the lease time, not before, and nothing is lost", async () => {
    const frail = new Frail();
    const a = await frail.bus;
    const b = await steady();
    const seenA = recorder(forever);
    await a.subscribe("t.p", "g", seenA.handler);
    const seenB = recorder();
    await b.subscribe("t.p", "g", seenB.handler);
    await bench().advance(2_500);
    const mine = partitionsOf(a);
    await b.publishMany(
      "t.p",
      ALL.map((partition) => ({ payload: partition, partition })),
    );
    await settled();
    expect(seenA.seen).toHaveLength(4);
    frail.crash();
    await bench().advance(LEASE_MS - 3_500);
    expect(partitionsOf(b)).toHaveLength(4);
    await bench().advance(5_000);
    expect(partitionsOf(b)).toEqual(ALL);
    // What the dead one had in hand comes again, and says so.
    const again = seenB.seen.filter(({ payload }) => mine.includes(payload as number));
    expect(again.map(({ payload }) => payload).sort()).toEqual(mine);
    expect(again.every(({ attempt }) => attempt === 2)).toBe(true);
    await bench().advance(100);
    const position = await b.getCursor("t.p", "g");
    expect(position?.partitions.map(({ floor }) => floor)).toEqual(new Array(8).fill(1));
  });

  it("P8: a crash loop counts: an event that kills its bus every time ends in the dead letters", async () => {
    const watcher = await steady();
    const topic = defineTopic("t.one", { partitions: 1 });
    await watcher.defineTopic(topic);
    await watcher.publishMany("t.one", [{ payload: "fine" }, { payload: "deadly" }, { payload: "fine too" }]);
    const handled: unknown[] = [];
    let deaths = 0;
    for (let life = 0; life < 8; life++) {
      const frail = new Frail({ leaseMs: 1_000 });
      const bus = await frail.bus;
      await bus.subscribe(
        "t.one",
        "g",
        (event) => {
          if (event.payload === "deadly") {
            deaths++;
            frail.crash();
            return forever();
          }
          handled.push(event.payload);
          return undefined;
        },
        { from: "earliest", maxAttempts: 2 },
      );
      await bench().advance(200);
      if (frail.clock.dead) await bench().advance(5_000);
    }
    const letters: unknown[] = [];
    for await (const { payload } of watcher.read("dlq.t.one")) letters.push(payload);
    expect(letters).toMatchObject([{ event: { payload: "deadly" } }]);
    expect(deaths).toBeLessThanOrEqual(4);
    expect(handled).toEqual(expect.arrayContaining(["fine", "fine too"]));
    expect((await watcher.getCursor("t.one", "g"))?.partitions[0]?.floor).toBe(3);
  });
});

describe("fencing", () => {
  it("P7: a bus that slept through its lease writes nothing afterwards, and its handlers are told", async () => {
    const frail = new Frail();
    const a = await frail.bus;
    const b = await steady();
    const held = gate();
    let signal: AbortSignal | undefined;
    let answer: Promise<unknown> | undefined;
    await a.subscribe("t.p", "g", async (_event, ctx) => {
      signal = ctx.signal;
      await held.passed;
      answer = ctx.ack();
      await answer;
    });
    await a.publish("t.p", "x", { partition: 3 });
    await settled();
    frail.sleep();
    const seenB = recorder();
    await b.subscribe("t.p", "g", seenB.handler);
    await bench().advance(LEASE_MS + 2_000);
    expect(partitionsOf(b)).toEqual(ALL);
    expect(seenB.seen).toMatchObject([{ payload: "x", attempt: 2 }]);
    await bench().advance(100);
    const before = await b.getCursor("t.p", "g");
    frail.wake();
    await bench().advance(100);
    expect(signal?.aborted).toBe(true);
    held.open();
    await settled();
    expect(await answer).toMatchObject({ ok: false, err: expect.stringMatching(/^LEASE_LOST/) });
    const after = await b.getCursor("t.p", "g");
    expect(after?.partitions[3]).toMatchObject({ floor: before?.partitions[3]?.floor, lag: 0 });
  });

  it("P7: a dead letter decided by a fenced owner is not written", async () => {
    const frail = new Frail({ deaf: true });
    const a = await frail.bus;
    const b = await steady();
    const held = gate();
    await a.subscribe("t.p", "g", () => held.passed.then(() => Promise.reject(new Error("too late"))), {
      maxAttempts: 1,
      ackTimeoutMs: 120_000,
    });
    await a.publish("t.p", "x", { partition: 3 });
    await settled();
    frail.sleep();
    await b.subscribe("t.p", "g", () => undefined);
    await bench().advance(LEASE_MS + 2_000);
    frail.wake();
    held.open();
    await bench().advance(5_000);
    const letters: unknown[] = [];
    for await (const letter of b.read("dlq.t.p")) letters.push(letter);
    expect(letters).toEqual([]);
  });

  it("P5: a sleeper hands out nothing more once its lease may have run out, until it knows what it lost", async () => {
    const frail = new Frail({ deaf: "to groups" });
    const a = await frail.bus;
    const b = await steady();
    const [seenA, seenB] = [recorder(), recorder()];
    await a.subscribe("t.p", "g", seenA.handler);
    await a.publish("t.p", "first", { partition: 0 });
    await bench().advance(100);
    frail.sleep();
    await b.subscribe("t.p", "g", seenB.handler);
    await bench().advance(LEASE_MS + 2_000);
    await b.publishMany(
      "t.p",
      ["second", "third"].map((payload) => ({ payload, partition: 0 })),
    );
    await settled();
    frail.wake();
    await bench().advance(100);
    // It learnt of the new events before it learnt of its loss.
    expect(seenA.payloads()).toEqual(["first"]);
    const all = [...seenA.seen, ...seenB.seen];
    for (const payload of ["first", "second", "third"]) {
      const attempts = all.filter((seen) => seen.payload === payload).map(({ attempt }) => attempt);
      expect(attempts.filter((attempt) => attempt === 1).length, String(payload)).toBeLessThanOrEqual(1);
      expect(attempts.length).toBeGreaterThan(0);
    }
  });

  it("P15: the sleeper comes back as a member and gets its share again", async () => {
    const frail = new Frail();
    const a = await frail.bus;
    const b = await steady();
    await a.subscribe("t.p", "g", () => undefined);
    await b.subscribe("t.p", "g", () => undefined);
    await bench().advance(2_000);
    frail.sleep();
    await bench().advance(LEASE_MS + 2_000);
    expect(partitionsOf(b)).toEqual(ALL);
    frail.wake();
    await bench().advance(10_000);
    expect(partitionsOf(a)).toHaveLength(4);
    expect(partitionsOf(b)).toHaveLength(4);
  });

  it("P15: a sleeper goes on although it takes longer than a lease to learn what it lost in each of many groups", async () => {
    const frail = new Frail({ slow: "groups.state" });
    const a = await frail.bus;
    const { handler, seen } = recorder();
    const topics = Array.from({ length: 300 }, (_, n) => defineTopic(`many.t${n}`, { partitions: 1 }));
    const subscribing = a.subscribe(topics, "g", handler);
    await bench().advance(120_000);
    await subscribing;
    frail.sleep();
    await bench().advance(LEASE_MS + 2_000);
    frail.wake();
    await Promise.all(topics.map((topic) => a.publish(topic, 1)));
    await bench().advance(60_000);
    expect(seen).toHaveLength(300);
  });

  it("P15: a sleeper with many groups lets others have their turn while it learns what it lost", async () => {
    const GROUPS = 1_000;
    const frail = new Frail();
    const a = await frail.bus;
    const { handler, seen } = recorder();
    const topics = Array.from({ length: GROUPS }, (_, n) => defineTopic(`many.t${n}`, { partitions: 1 }));
    const subscribing = a.subscribe(topics, "g", handler);
    await bench().advance(1_000);
    await subscribing;
    frail.sleep();
    await bench().advance(LEASE_MS + 2_000);
    const { groups } = bench().store;
    const look = groups.state.bind(groups);
    let looks = 0;
    const ofTurns: number[] = [];
    const endTurn = (): void => {
      ofTurns.push(looks);
      looks = 0;
    };
    vi.spyOn(groups, "state").mockImplementation((...asked) => {
      if (looks++ === 0) setImmediate(endTurn);
      return look(...asked);
    });
    frail.wake();
    await Promise.all(topics.map((topic) => a.publish(topic, 1)));
    await bench().advance(30_000);
    expect(seen).toHaveLength(GROUPS);
    expect(ofTurns.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(2 * GROUPS);
    expect(Math.max(...ofTurns)).toBeLessThan(GROUPS / 2);
  });

  it("P15: signals that never come are made up for by looking now and then", async () => {
    const a = await new Frail({ deaf: true }).bus;
    const b = await steady();
    const [seenA, seenB] = [recorder(), recorder()];
    await a.subscribe("t.p", "g", seenA.handler);
    await a.subscribe("later.*", "g", seenA.handler);
    await b.subscribe("t.p", "g", seenB.handler);
    await bench().advance(5_000);
    expect(partitionsOf(a)).toHaveLength(4);
    await b.publishMany("t.p", EVENTS);
    await b.publish("later.topic", "hello");
    await bench().advance(5_000);
    expect(seenA.seen.length + seenB.seen.length).toBe(81);
    expect(seenA.payloads()).toContain("hello");
  });
});
