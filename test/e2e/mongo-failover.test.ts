/**
 * Three nodes whose primary is killed, frozen and asked to step down while events are published, read, projected, trimmed
 * and compacted. Nothing acknowledged is lost, no seq is missing, everything goes on by itself (P1, P2, P9, P11, P15).
 *
 * The plan is short here; `node scripts/mongo-faults.mjs` runs the long one.
 */
import { expect, it } from "vitest";
import type { Store } from "../../src/ports/store.js";
import { mongoStore } from "../../src/stores/mongo/index.js";
import { FaultLoad } from "../support/mongo/fault-load.js";
import { RemovalLoad } from "../support/mongo/removal-load.js";
import { ReplicaSet } from "../support/mongo/replica-set.js";

/** `kill*2 stop step restart`: what happens, in order. */
const PLAN = (process.env.PROMETHEAN_FAULT_PLAN ?? "kill stop step").split(" ").flatMap((word) => {
  const [name = "", times = "1"] = word.split("*");
  return new Array<string>(Number(times)).fill(name);
});
const PARTITIONS = 2;
const RESUME_MS = 30_000;
const TEST_MS = 60_000 + PLAN.length * 45_000;

async function strike(set: ReplicaSet, fault: string): Promise<() => Promise<void>> {
  const primary = await set.primary();
  switch (fault) {
    case "kill":
      await primary.kill();
      return () => primary.start();
    case "stop":
      primary.signal("SIGSTOP");
      return async () => primary.signal("SIGCONT");
    case "step":
      await set.stepDown();
      return async () => undefined;
    case "restart":
      await set.killAll();
      await set.startAll();
      return async () => undefined;
    default:
      throw new Error(`the plan has no fault called "${fault}"`);
  }
}

it(`P1, P11: nothing acknowledged is lost, trimmed or compacted too early through ${PLAN.length} faults of the servers`, {
  timeout: TEST_MS + 30_000,
}, async () => {
  const run: Run = { stage: "starting the servers", removals: [] };
  try {
    await within(
      TEST_MS,
      () =>
        `still ${run.stage}; so far: ${run.load?.summary ?? "nothing"}; ${run.removals.map((one) => one.summary).join("; ")}`,
      play(run),
    );
  } finally {
    await within(20_000, () => "the servers do not end", Promise.resolve(run.set?.dispose()));
  }
});

/** What is under way, told when the test stands still. */
interface Run {
  stage: string;
  set?: ReplicaSet;
  load?: FaultLoad;
  readonly removals: RemovalLoad[];
}

async function play(run: Run): Promise<void> {
  const set = await ReplicaSet.start({ nodes: 3, electionTimeoutMs: 1_000 });
  run.set = set;
  run.stage = "opening the stores";
  const url = `${set.url}&connectTimeoutMS=1000&heartbeatFrequencyMS=500&serverSelectionTimeoutMS=8000`;
  const stores: Store[] = [0, 1, 2].map(() => mongoStore({ url, db: "faults" }));
  for (const store of stores) await store.open();
  const load = new FaultLoad(stores, PARTITIONS);
  run.load = load;
  await load.start();
  for (const layout of ["documents", "batches"] as const)
    run.removals.push(await RemovalLoad.start(mongoStore({ url, db: `removals-${layout}` }), layout));
  const pauses: string[] = [];
  for (const [i, fault] of PLAN.entries()) {
    run.stage = `waiting for events before fault ${i + 1}, ${fault}`;
    await progress(load, 50);
    run.stage = `striking with fault ${i + 1}, ${fault}`;
    const heal = await strike(set, fault);
    // Two nodes of three are enough: publishing goes on before the third is back.
    run.stage = `waiting for events after fault ${i + 1}, ${fault}`;
    pauses.push(`${fault} ${await progress(load, 50)}`);
    run.stage = `healing fault ${i + 1}, ${fault}`;
    await heal();
    await set.whole();
  }
  run.stage = "waiting for the last events";
  await progress(load, 50);
  run.stage = "letting readers and projectors come to the end";
  const report = await load.finish();
  expect(report.events).toBeGreaterThanOrEqual(report.acked);
  run.stage = "judging what was trimmed and compacted";
  const removed = { published: 0, trimmed: 0, compacted: 0 };
  for (const removal of run.removals) {
    const { published, trimmed, compacted } = await removal.finish();
    expect(Math.min(trimmed, compacted)).toBeGreaterThan(0);
    removed.published += published;
    removed.trimmed += trimmed;
    removed.compacted += compacted;
  }
  const reports = JSON.stringify({ ...report, removed });
  console.info(`[mongo faults] ms until 50 more events: ${pauses.join(", ")}; ${reports}`);
  run.stage = "closing the stores";
  await Promise.all([...run.removals, ...stores].map((one) => one.close()));
}

/** Fails with `why` if the work takes longer. */
async function within<T>(ms: number, why: () => string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`after ${ms} ms: ${why()}`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until this many more events were acknowledged; returns how long that took. */
async function progress(load: FaultLoad, events: number): Promise<number> {
  const goal = load.acked + events;
  const startMs = performance.now();
  const deadlineMs = startMs + RESUME_MS;
  while (load.acked < goal) {
    if (performance.now() > deadlineMs) throw new Error(`publishing did not resume within ${RESUME_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return Math.round(performance.now() - startMs);
}
