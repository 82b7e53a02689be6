/** What a seed stands for: how many of everything, which options, which faults. Drawn once, before the run. */
import type { FaultRates, SeededFaultOptions } from "../faulty-store/index.js";
import type { Dice } from "./dice.js";

export const ORDERS = "orders";
/** A topic that comes and goes. */
export const ERRANDS = "errands";
export const ERRAND_PARTITIONS = 2;
export const EFFECTS = "effects";
export const VIEW = "orders-by-key";
export const PROJECTION = "projection";
/** The view and the group of the projector that runs inside the buses. */
export const TOTALS = "totals";

/** Names of what a handler may do with an event. */
export type Mood = "ok" | "brief" | "slow" | "throw" | "fatal" | "hang" | "extend" | "kill";

/** A group of a simulated run. */
export interface GroupPlan {
  readonly name: string;
  readonly work: "single" | "batch";
  readonly manualAck: boolean;
  readonly ordering: "key" | "partition" | "none";
  readonly maxInFlight: number;
  readonly batchSize: number;
  readonly ackTimeoutMs: number;
  readonly maxAttempts: number;
  readonly from: "earliest" | "latest";
  /** Refuses one event in so many; 0: none. */
  readonly refuses: number;
  /** Follow-up events per event, at most. */
  readonly emits: number;
  /** How handlers behave, by weight. */
  readonly moods: Readonly<Record<Mood, number>>;
  /** Share of events that fail whatever the attempt. */
  readonly poison: number;
}

/** What befalls the members of a simulated run, and how often. */
export interface ChaosPlan {
  /** Mean time between two blows. */
  readonly everyMs: number;
  readonly blows: Readonly<Record<Blow, number>>;
}

/** `evict`: somebody ends its session behind its back. `unsubscribe`: for a good while. */
export type Blow = "crash" | "freeze" | "leave" | "evict" | "unsubscribe" | "move";

/** What a simulated run is made of; drawn from its seed. */
export interface Scenario {
  readonly seed: number;
  readonly partitions: number;
  readonly processes: number;
  readonly producers: number;
  readonly projectors: number;
  /** How often the topic that comes and goes is filled and removed. */
  readonly removals: number;
  /** The buses run a transactional projector: not at all, by increments, or by reading and writing. */
  readonly totals: "none" | "increment" | "rewrite";
  readonly events: number;
  readonly keys: number;
  readonly groups: readonly GroupPlan[];
  /** How long faults and blows go on. */
  readonly faultyMs: number;
  readonly leaseMs: number;
  /** How far ahead the delivered mark is committed, and how often cursors are. */
  readonly stride: number;
  readonly commitEveryMs: number;
  /** How long a bus repeats a publish before it tells the publisher. */
  readonly publishTimeoutMs: number;
  readonly faults: Omit<SeededFaultOptions, "seed">;
  readonly chaos: ChaosPlan;
}

export function drawScenario(dice: Dice): Scenario {
  const groups = dice.between(1, 3);
  return {
    seed: dice.seed,
    partitions: dice.between(1, 3),
    processes: dice.between(2, 3),
    producers: dice.between(1, 3),
    projectors: dice.between(0, 2),
    removals: dice.fork("removals").between(0, 6),
    totals: dice.weighted({ none: 2, increment: 1, rewrite: 1 }),
    events: dice.between(40, 90),
    keys: dice.between(2, 6),
    groups: Array.from({ length: groups }, (_, i) => drawGroup(`group-${i + 1}`, dice.fork(`group ${i}`))),
    faultyMs: dice.between(4_000, 7_000),
    leaseMs: 1_500,
    stride: dice.pick([1, 2, 4, 10]),
    commitEveryMs: dice.pick([5, 50, 200]),
    publishTimeoutMs: dice.pick([1, 100, 2_500]),
    faults: drawFaults(dice.fork("faults")),
    chaos: drawChaos(dice.fork("chaos")),
  };
}

function drawGroup(name: string, dice: Dice): GroupPlan {
  const work = dice.weighted({ single: 4, batch: 1 });
  return {
    name,
    work,
    manualAck: work === "single" && dice.chance(0.25),
    ordering: dice.weighted({ key: 6, partition: 1, none: 1 }),
    maxInFlight: dice.between(1, 8),
    batchSize: dice.between(2, 6),
    ackTimeoutMs: dice.between(150, 600),
    maxAttempts: dice.between(2, 5),
    from: dice.weighted({ earliest: 5, latest: 1 }),
    refuses: dice.chance(0.3) ? dice.between(2, 5) : 0,
    emits: dice.chance(0.5) ? dice.between(1, 2) : 0,
    moods: {
      ok: 10,
      brief: 6,
      slow: dice.between(0, 2),
      throw: dice.between(0, 4),
      fatal: dice.between(0, 1) / 2,
      hang: dice.between(0, 1) / 2,
      extend: dice.between(0, 1),
      kill: dice.between(0, 1) / 8,
    },
    poison: dice.chance(0.5) ? 0.03 : 0,
  };
}

const CALM: FaultRates = {};
const ROUGH: FaultRates = {
  "error-before": 0.03,
  "error-after": 0.02,
  "lost-reply": 0.02,
  delay: 0.1,
  reorder: 0.05,
  crash: 0.001,
};

function drawFaults(dice: Dice): Omit<SeededFaultOptions, "seed"> {
  const mood = dice.weighted({ calm: 1, slow: 1, rough: 4 });
  const signals = { drop: dice.roll() * 0.3, blur: dice.roll() * 0.2, delay: dice.roll() * 0.3 };
  if (mood === "calm") return { rates: CALM, signals };
  if (mood === "slow") return { rates: { delay: 0.5, reorder: 0.3 }, signals, delayMs: [1, 120] };
  return {
    rates: ROUGH,
    byKind: { append: { ...ROUGH, torn: 0.08 }, commit: { ...ROUGH, "lost-reply": 0.06 } },
    signals,
    delayMs: [1, dice.between(10, 150)],
  };
}

function drawChaos(dice: Dice): ChaosPlan {
  return {
    everyMs: dice.between(400, 2_500),
    blows: {
      crash: dice.between(0, 3),
      freeze: dice.between(0, 3),
      leave: dice.between(0, 2),
      evict: dice.between(0, 1),
      unsubscribe: dice.between(0, 2),
      move: dice.chance(0.2) ? 1 : 0,
    },
  };
}
