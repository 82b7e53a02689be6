/** Work split by a coordinator inside one process, and publishes that choose their partition. */
import { describe, expect, it } from "vitest";
import { BusBench, forever, recorder, useBench } from "../../test/support/bus-bench.js";
import { settled } from "../../test/support/eventually.js";
import { PartitionCoordinator } from "../consume/coordinator.js";
import { type PartitionOptions, subscribePartitioned, withPartitioning } from "../consume/partitioned.js";
import { jumpHash } from "../model/partition.js";
import { defineTopic } from "../model/topic.js";
import type { Bus } from "./bus.js";

const bench = useBench();

const SHARES = 8;
const EVENTS = Array.from({ length: 60 }, (_, i) => ({ payload: i, key: `k${i % 15}` }));

function coordinatorOf(ttlMs = 15_000): PartitionCoordinator {
  return new PartitionCoordinator({ ttlMs, clock: bench().clock });
}

async function member(
  bus: Bus,
  coordinator: PartitionCoordinator,
  memberId: string,
  options: Partial<PartitionOptions> = {},
  act?: Parameters<typeof recorder>[0],
): Promise<ReturnType<typeof recorder> & { stop(): Promise<void> }> {
  const recording = recorder(act);
  const all = { group: "g", memberId, partitions: SHARES, clock: bench().clock, ...options };
  const stop = await subscribePartitioned(bus, "t.a", recording.handler, coordinator, all);
  return { ...recording, stop };
}

describe("subscribePartitioned", () => {
  it("two members handle the keys of their own shares, and nothing else; together they handle everything", async () => {
    const bus = await bench().bus();
    const coordinator = coordinatorOf();
    const a = await member(bus, coordinator, "a");
    const b = await member(bus, coordinator, "b");
    await bench().advance(3_000);
    await bus.publishMany("t.a", EVENTS);
    await settled();
    const { owners } = coordinator.assign("g", SHARES);
    for (const [id, { seen }] of [
      ["a", a],
      ["b", b],
    ] as const) {
      expect(seen.length).toBeGreaterThan(0);
      for (const { key } of seen) expect(owners[jumpHash(key ?? "", SHARES)]).toBe(id);
    }
    expect([...a.payloads(), ...b.payloads()].sort((x, y) => Number(x) - Number(y))).toEqual(
      EVENTS.map(({ payload }) => payload),
    );
  });

  it("P4: keys stay in order when a member comes in the middle", async () => {
    const bus = await bench().bus();
    const coordinator = coordinatorOf();
    const done = new Map<string, unknown[]>();
    const act = async (event: { key?: string; payload: unknown }): Promise<void> => {
      await settled(1);
      done.set(event.key ?? "", [...(done.get(event.key ?? "") ?? []), event.payload]);
    };
    await member(bus, coordinator, "a", { maxInFlight: 2 }, act);
    await bus.publishMany("t.a", EVENTS);
    await settled(3);
    const late = await member(bus, coordinator, "b", { maxInFlight: 2 }, act);
    for (let i = 0; i < 30; i++) await bench().advance(300);
    expect(late.seen.length).toBeGreaterThan(0);
    for (let k = 0; k < 15; k++)
      expect(done.get(`k${k}`)).toEqual(
        EVENTS.filter(({ key }) => key === `k${k}`).map(({ payload }) => payload),
      );
  });

  it("P15: when a member leaves, the others take its shares at their next look, waiting events included", async () => {
    const bus = await bench().bus();
    const coordinator = coordinatorOf();
    const a = await member(bus, coordinator, "a");
    const b = await member(bus, coordinator, "b");
    await bench().advance(3_000);
    await b.stop();
    expect(coordinator.members("g")).toEqual(["a"]);
    await bus.publishMany("t.a", EVENTS);
    await settled();
    expect(a.seen.length).toBeLessThan(EVENTS.length);
    await bench().advance(3_000);
    expect(a.seen).toHaveLength(EVENTS.length);
    expect(b.seen).toEqual([]);
  });

  it("P15: a member that was swept away while its process slept comes back by itself", async () => {
    const bus = await bench().bus();
    const coordinator = coordinatorOf(1_000);
    const a = await member(bus, coordinator, "a", { rebalanceEveryMs: 5_000 });
    await bench().advance(2_000);
    coordinator.sweep();
    expect(coordinator.members("g")).toEqual([]);
    await bench().advance(5_000);
    expect(coordinator.members("g")).toEqual(["a"]);
    await bus.publish("t.a", 1, { key: "k" });
    await settled();
    expect(a.payloads()).toEqual([1]);
  });

  it("no deadline runs while an event waits for its member", async () => {
    const bus = await bench().bus();
    const coordinator = coordinatorOf();
    coordinator.join("g", "somebody-else");
    const a = await member(bus, coordinator, "a", { ackTimeoutMs: 1_000, maxAttempts: 1 });
    await bus.publishMany("t.a", EVENTS);
    await bench().advance(5_000);
    expect(a.seen.length).toBeLessThan(EVENTS.length);
    coordinator.leave("g", "somebody-else");
    await bench().advance(3_000);
    expect(a.seen).toHaveLength(EVENTS.length);
    expect(a.seen.every(({ attempt }) => attempt === 1)).toBe(true);
  });

  it("keyOf says what counts as the key; where it throws, the event is at fault and not the process", async () => {
    const bus = await bench().bus();
    const coordinator = coordinatorOf();
    const keyOf = (event: { payload: unknown }): string => {
      if (event.payload === "bad") throw new Error("no key in here");
      return String(event.payload);
    };
    const a = await member(bus, coordinator, "a", { keyOf, maxAttempts: 2 });
    await bus.publishMany(
      "t.a",
      ["x", "bad", "y"].map((payload) => ({ payload })),
    );
    await bench().advance(1_000);
    expect(a.payloads()).toEqual(["x", "y"]);
    const letters: unknown[] = [];
    for await (const { payload } of bus.read("dlq.t.a")) letters.push(payload);
    expect(letters).toMatchObject([{ event: { payload: "bad" }, error: { message: "no key in here" } }]);
  });

  it("layers of the bus are around its handler too", async () => {
    const bus = await bench().bus();
    const layered: unknown[] = [];
    bus.use({
      handle: async (event, _ctx, next) => {
        layered.push(event.payload);
        await next();
      },
    });
    const a = await member(bus, coordinatorOf(), "a");
    await bus.publish("t.a", 1);
    await settled();
    expect(layered).toEqual([1]);
    expect(a.payloads()).toEqual([1]);
  });

  it("begins at the latest event unless told otherwise, and refuses options that are none", async () => {
    const bus = await bench().bus();
    const coordinator = coordinatorOf();
    await bus.publish("t.a", "old");
    const late = await member(bus, coordinator, "a");
    const early = await member(bus, coordinator, "b", { group: "h", from: "earliest" });
    await bench().advance(3_000);
    expect(late.payloads()).toEqual([]);
    expect(early.payloads()).toEqual(["old"]);
    for (const options of [
      ...[{ partitions: 0 }, { partitions: 1.5 }, { nonsense: 1 }, { rebalanceEveryMs: 0 }],
      ...[{ memberId: "" }, { memberId: undefined as never }],
    ]) {
      const failing = member(bus, coordinator, "c", { group: "x", ...options });
      await expect(failing).rejects.toMatchObject({ code: "INVALID_OPTION" });
    }
    expect(coordinator.members("x")).toEqual([]);
    await expect(member(bus, {} as never, "c", { group: "x" })).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
    for (const none of [undefined, null] as unknown as never[])
      await expect(
        subscribePartitioned(bus, "t.a", () => undefined, coordinator, none),
      ).rejects.toMatchObject({
        code: "INVALID_OPTION",
        message: expect.stringContaining("{ group, memberId, partitions }"),
      });
  });

  it("takes keys that are no text as text, as publishing by them does", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.a", { partitions: 8 })] });
    const coordinator = coordinatorOf();
    const pidOf = (payload: unknown) => (payload as { pid: number }).pid as never;
    const a = await member(bus, coordinator, "a", { keyOf: ({ payload }) => pidOf(payload) });
    const b = await member(bus, coordinator, "b", { keyOf: ({ payload }) => pidOf(payload) });
    await bench().advance(3_000);
    const byPid = withPartitioning(bus, 8, pidOf);
    for (let pid = 0; pid < 30; pid++)
      expect((await byPid.publish("t.a", { pid })).partition).toBe(jumpHash(String(pid), 8));
    await settled();
    expect(a.seen.length).toBeGreaterThan(0);
    expect(b.seen.length).toBeGreaterThan(0);
    expect(a.seen.length + b.seen.length).toBe(30);
  });

  it("closing the bus ends it: no timer is left, and the member is gone", async () => {
    const own = new BusBench();
    const bus = await own.bus();
    const coordinator = new PartitionCoordinator({ clock: own.clock });
    await subscribePartitioned(bus, "t.a", () => undefined, coordinator, {
      group: "g",
      memberId: "a",
      partitions: 4,
      clock: own.clock,
    });
    await bus.close();
    expect(coordinator.members("g")).toEqual([]);
    expect(own.clock.nextTimerMs()).toBeUndefined();
  });

  it("P13: events that nobody takes are parked only so far; the rest stays in the log", async () => {
    const bus = await bench().bus();
    const coordinator = coordinatorOf();
    coordinator.join("g", "absent");
    await member(bus, coordinator, "a", {}, forever);
    await bus.publishMany(
      "t.a",
      Array.from({ length: 2_000 }, (_, payload) => ({ payload })),
    );
    await settled();
    const position = await bus.getCursor("t.a", "g");
    expect(position?.partitions[0]?.inFlight).toBeLessThanOrEqual(1_100);
  });
});

describe("withPartitioning", () => {
  it("chooses the partition by a key of the payload, by the event's key, or by the payload itself", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: 8 })] });
    const byHost = withPartitioning(bus, 8, (payload) => (payload as { host?: string }).host);
    expect((await byHost.publish("t.p", { host: "h1" })).partition).toBe(jumpHash("h1", 8));
    expect((await byHost.publish("t.p", {}, { key: "k" })).partition).toBe(jumpHash("k", 8));
    expect((await byHost.publish("t.p", {})).partition).toBe(jumpHash("{}", 8));
    expect((await byHost.publish("t.p", { host: "h1" }, { partition: 2 })).partition).toBe(2);
    const records = await byHost.publishMany("t.p", [{ payload: { host: "a" } }, { payload: { host: "b" } }]);
    expect(records.map(({ partition }) => partition)).toEqual([jumpHash("a", 8), jumpHash("b", 8)]);
  });

  it("leaves the bus it was made from as it was", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.p", { partitions: 8 })] });
    withPartitioning(bus, 8, () => "always the same");
    const record = await bus.publish("t.p", 1, { id: "x" });
    expect(record.partition).toBe(jumpHash("x", 8));
  });

  it("gives a new topic that many partitions, and makes do with what an old one has", async () => {
    const bus = await bench().bus({ topics: [defineTopic("t.small", { partitions: 2 })] });
    const partitioned = withPartitioning(bus, 8);
    await partitioned.publish("t.fresh", "x");
    const topics = await bus.topics();
    expect(topics.find(({ name }) => name === "t.fresh")?.partitions).toBe(8);
    for (let i = 0; i < 20; i++) {
      const record = await partitioned.publish("t.small", i, { key: `k${i}` });
      expect(record.partition).toBe(jumpHash(`k${i}`, 2));
    }
  });

  it("refuses what publish refuses", async () => {
    const bus = await bench().bus();
    const partitioned = withPartitioning(bus, 8);
    await expect(partitioned.publish("NOT A TOPIC", 1)).rejects.toMatchObject({ code: "INVALID_TOPIC" });
    const circle: Record<string, unknown> = {};
    circle.itself = circle;
    for (const payload of [undefined, 1n, circle])
      await expect(partitioned.publish("t.a", payload)).rejects.toMatchObject({ code: "INVALID_PAYLOAD" });
    expect(() => withPartitioning(bus, 0)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
  });
});
