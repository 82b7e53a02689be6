/**
 * The simulator: several buses, producers, projections and a remover of topics on one store, in one process, under one clock and one seed.
 * Processes crash, stand still beyond their leases and come back; calls fail, tarry and tear. Then the faults end,
 * everything must be settled within bounded time (P15), and the history is judged. One seed, one run, bit by bit.
 */
import { pause } from "../../model/clock.js";
import { type Anomaly, checkHistory, type HistoryEvent } from "../history/index.js";
import { Cluster } from "./cluster.js";
import { Dice } from "./dice.js";
import { countByKey, dump, openWork } from "./ending.js";
import type { Mutant } from "./mutant.js";
import { Producer } from "./producer.js";
import { Remover } from "./remover.js";
import { drawScenario, ORDERS, PROJECTION, type Scenario, TOTALS, VIEW } from "./scenario.js";
import { SimulatedProjector } from "./simulated-projector.js";
import { World } from "./world.js";

/** Virtual time in which everything must be settled once faults are over, and the whole run be done. */
const DRAIN_MS = 120_000;
const CLOSE_MS = 30_000;
const RUN_MS = 600_000;

/** Which run, and with which planted bug. */
export interface SimulateOptions {
  readonly seed: number;
  /** Run with a planted bug. */
  readonly mutant?: Mutant;
}

/** What a simulated run came to. */
export interface SimulationResult {
  readonly seed: number;
  readonly anomalies: readonly Anomaly[];
  readonly history: readonly HistoryEvent[];
  /** Equal for equal runs; worked out when it is asked for. */
  readonly hash: string;
  readonly scenario: Scenario;
  /** Virtual time it took. */
  readonly tookMs: number;
}

/**
 * Runs one seed to its end.
 *
 * @example
 * const { anomalies } = await simulate({ seed: 42 });
 */
export async function simulate({ seed, mutant }: SimulateOptions): Promise<SimulationResult> {
  const drawn = drawScenario(new Dice(seed));
  const scenario = mutant?.scenario?.(drawn) ?? drawn;
  const world = new World(scenario, mutant);
  await world.raw.open();
  const done = await world.drive(play(world), RUN_MS);
  if (!done) world.recorder.record({ type: "stalled", waiting: `the run is not over after ${RUN_MS} ms` });
  await dump(world);
  const { recorder } = world;
  return {
    seed,
    anomalies: checkHistory(recorder.events, { views: { [VIEW]: countByKey, [TOTALS]: countByKey } }),
    history: recorder.events,
    get hash() {
      return recorder.hash();
    },
    scenario,
    tookMs: world.nowMs,
  };
}

async function play(world: World): Promise<void> {
  const { scenario, clock, dice, recorder } = world;
  const cluster = new Cluster(world);
  await world.raw.registry.defineTopic({ name: ORDERS, partitions: scenario.partitions });
  cluster.begin();
  const projectors = startProjectors(world);
  const producing = startProducers(world, cluster);
  const picks = dice.fork("remover picks");
  const remover = new Remover(world, () => cluster.pick(picks));
  producing.push(remover.run(scenario.removals, scenario.faultyMs * 0.8));
  await bringTrouble(world, cluster);
  world.faulty = false;
  recorder.record({ type: "faults-ended" });
  cluster.endFaults();
  for (const projector of projectors) projector.endFaults();
  await Promise.all(producing);
  await remover.finish();
  if (await drains(world, cluster)) {
    recorder.record({ type: "drained" });
    // Whoever still believes to own something shows now.
    await pause(clock, dice.between(0, 500));
  }
  cluster.close();
  await Promise.all(projectors.map((projector) => projector.stop()));
  await closes(world, cluster);
}

function startProducers(world: World, cluster: Cluster): Promise<void>[] {
  const { scenario, dice } = world;
  return Array.from({ length: scenario.producers }, (_, i) => {
    const name = `p${i + 1}`;
    const picks = dice.fork(`${name} picks`);
    const share = Math.ceil(scenario.events / scenario.producers);
    return new Producer(world, name, () => cluster.pick(picks)).run(share, scenario.faultyMs * 0.8);
  });
}

function startProjectors(world: World): SimulatedProjector[] {
  const { scenario, recorder } = world;
  if (scenario.projectors > 0)
    recorder.record({
      type: "subscribed",
      group: PROJECTION,
      topic: ORDERS,
      ordering: "none",
      maxAttempts: 1,
    });
  return Array.from(
    { length: scenario.projectors },
    (_, i) => new SimulatedProjector(world, `projector-${i + 1}`),
  );
}

async function bringTrouble(world: World, cluster: Cluster): Promise<void> {
  const { scenario, clock } = world;
  const dice = world.dice.fork("trouble");
  for (;;) {
    await pause(clock, dice.between(1, scenario.chaos.everyMs * 2));
    if (world.nowMs >= scenario.faultyMs) return;
    cluster.strike(dice.weighted(scenario.chaos.blows));
  }
}

async function drains(world: World, cluster: Cluster): Promise<boolean> {
  const deadlineMs = world.nowMs + DRAIN_MS;
  for (;;) {
    const open = [...(await openWork(world)), ...cluster.unfinished];
    if (open.length === 0) return true;
    if (world.nowMs >= deadlineMs) {
      world.recorder.record({
        type: "stalled",
        waiting: `after ${DRAIN_MS} ms without faults: ${open.join("; ")}`,
      });
      return false;
    }
    await pause(world.clock, 100);
  }
}

/** A closed bus is closed within bounded time and leaves no timer behind. */
async function closes(world: World, cluster: Cluster): Promise<void> {
  const deadlineMs = world.nowMs + CLOSE_MS;
  const stillOpen = (): string[] => cluster.everyone.filter((p) => !p.gone).map((p) => p.name);
  while (stillOpen().length > 0 && world.nowMs < deadlineMs) await pause(world.clock, 50);
  if (stillOpen().length > 0)
    world.recorder.record({ type: "stalled", waiting: `${stillOpen().join(", ")} did not close` });
  await pause(world.clock, 1);
  for (const { name, state, clock } of cluster.everyone) {
    if (state === "closed" && clock.pending > 0)
      world.recorder.record({ type: "stalled", waiting: `${name} left ${clock.pending} timers behind` });
  }
}
