/** Random schedules against the pure step. The world checks P4, P5, P6, P8 and the cursor after every move. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GROUP_POLICY, HANDLING } from "../../test/support/delivery-driver.js";
import { PartitionWorld } from "../../test/support/partition-world.js";

type Move =
  | { readonly op: "append"; readonly key: number }
  | { readonly op: "remove"; readonly n: number }
  | { readonly op: "fetch"; readonly limit: number }
  | { readonly op: "fetchFails" }
  | { readonly op: "commit" }
  | { readonly op: "bury" }
  | { readonly op: "demand"; readonly count: number; readonly batch: boolean }
  | { readonly op: "ack"; readonly n: number }
  | { readonly op: "stale"; readonly n: number }
  | { readonly op: "fail"; readonly n: number }
  | { readonly op: "fatal"; readonly n: number }
  | { readonly op: "giveBack"; readonly n: number }
  | { readonly op: "pass"; readonly n: number }
  | { readonly op: "advance"; readonly ms: number }
  | { readonly op: "crash" }
  | { readonly op: "leave"; readonly patient: boolean };

const n = fc.nat(1_000);
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ op: fc.constant("append" as const), key: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("remove" as const), n }) },
  {
    weight: 8,
    arbitrary: fc.record({ op: fc.constant("fetch" as const), limit: fc.integer({ min: 1, max: 6 }) }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("fetchFails" as const) }) },
  { weight: 8, arbitrary: fc.record({ op: fc.constant("commit" as const) }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("bury" as const) }) },
  {
    weight: 10,
    arbitrary: fc.record({
      op: fc.constant("demand" as const),
      count: fc.integer({ min: 1, max: 5 }),
      batch: fc.boolean(),
    }),
  },
  { weight: 12, arbitrary: fc.record({ op: fc.constant("ack" as const), n }) },
  {
    weight: 6,
    arbitrary: fc.record({ op: fc.constantFrom("stale", "fail", "fatal", "giveBack", "pass"), n }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ op: fc.constant("advance" as const), ms: fc.constantFrom(1, 10, 60, 1_000) }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("crash" as const) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("leave" as const), patient: fc.boolean() }) },
);

const setting = fc.record({
  ordering: fc.constantFrom("key" as const, "key" as const, "partition" as const, "none" as const),
  stride: fc.constantFrom(1, 2, 5, 50),
  maxBufferedEvents: fc.constantFrom(2, 8, 100),
  maxSpan: fc.constantFrom(3, 10, 100),
  commitEverySettles: fc.constantFrom(1, 3, 100),
  maxAttempts: fc.integer({ min: 1, max: 4 }),
});

function worldOf({
  maxAttempts,
  ...policy
}: typeof setting extends fc.Arbitrary<infer S> ? S : never): PartitionWorld {
  return new PartitionWorld({ ...GROUP_POLICY, ...policy }, { ...HANDLING, maxAttempts });
}

type Plays = { readonly [O in Move["op"]]: (world: PartitionWorld, move: Extract<Move, { op: O }>) => void };

const picked = (world: PartitionWorld, at: number): number =>
  world.inFlight[at % Math.max(1, world.inFlight.length)] ?? 0;

const PLAYS: Plays = {
  append: (world, m) => world.append(m.key === 0 ? undefined : `k${m.key}`),
  remove: (world, m) => world.remove(m.n % (world.log.length + 1)),
  fetch: (world, m) => world.answerFetch(m.limit),
  fetchFails: (world) => world.failFetch(),
  commit: (world) => world.answerCommit(),
  bury: (world) => world.answerBurial(),
  demand: (world, m) => world.demand(m.count, m.batch),
  ack: (world, m) => world.ack(picked(world, m.n)),
  stale: (world, m) => world.staleAck(picked(world, m.n)),
  fail: (world, m) => world.fail(picked(world, m.n)),
  fatal: (world, m) => world.fail(picked(world, m.n), { fatal: true }),
  giveBack: (world, m) => world.fail(picked(world, m.n), { counts: false }),
  pass: (world, m) => world.pass(picked(world, m.n)),
  advance: (world, m) => world.advance(m.ms),
  crash: (world) => world.crash(),
  leave: (world, m) => world.leave(m.patient),
};

function play(world: PartitionWorld, m: Move): void {
  (PLAYS[m.op] as (world: PartitionWorld, move: Move) => void)(world, m);
}

describe("under any schedule", () => {
  it("P4, P5, P6, P8: what must hold holds after every move, and P15: once answers come, everything is settled", () => {
    fc.assert(
      fc.property(
        setting,
        fc.array(move, { minLength: 10, maxLength: 120, size: "max" }),
        (policy, moves) => {
          const world = worldOf(policy);
          for (const m of moves) play(world, m);
          world.drain();
          expect(world.unsettled()).toEqual([]);
        },
      ),
      { numRuns: 250 },
    );
  });

  it("P8: an event is never buried without a failure of its own", () => {
    fc.assert(
      fc.property(setting, fc.array(move, { minLength: 10, maxLength: 80, size: "max" }), (policy, moves) => {
        const world = worldOf({ ...policy, maxAttempts: 1 });
        // No failure and no deadline is ever any event's own fault here.
        for (const m of moves) {
          if (m.op === "fail" || m.op === "fatal" || m.op === "advance") continue;
          if (m.op === "crash" && world.namesSuspect) continue;
          play(world, m);
        }
        world.drain();
        expect([...world.buried]).toEqual([]);
      }),
      { numRuns: 120 },
    );
  });
});
