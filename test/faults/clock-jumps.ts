/**
 * Clocks that jump by an hour, forward and back, while buses work: the machine's clock for all of them, or that of one bus
 * alone. Time decides only when something may be tried or taken over, never what is true (P7), so nothing may be lost or
 * doubled, and no jump may stop the work for the hour that it jumped (P15).
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bus } from "../../src/bus/bus.js";
import { createBus } from "../../src/bus/create-bus.js";
import { type Clock, systemClock } from "../../src/model/clock.js";
import { seededRandom } from "../../src/model/manual-clock.js";
import type { Store } from "../../src/ports/store.js";
import { embeddedStore } from "../../src/stores/embedded/index.js";
import { BusLoad, pause } from "./bus-load.js";
import { goesOn, type PartOptions, type PartReport, Tally } from "./report.js";

const HOUR_MS = 3_600_000;

/** The machine's clock, put forward or back; the steady one goes on, as it does in a kernel. */
export class JumpingClock implements Clock {
  readonly steady = systemClock.steady;
  readonly setTimer = systemClock.setTimer;
  readonly random = systemClock.random;
  readonly newId = (): string => systemClock.newId();
  #offsetMs = 0;

  now(): number {
    return systemClock.now() + this.#offsetMs;
  }

  jump(ms: number): void {
    this.#offsetMs += ms;
  }
}

export async function runClockJumps(options: PartOptions): Promise<PartReport> {
  const tally = new Tally();
  const random = seededRandom(options.seed);
  const folder = await mkdtemp(join(tmpdir(), "promethean-clock-"));
  try {
    const path = join(folder, "bus.db");
    const open = (): Store => embeddedStore({ path, onWarning: () => undefined });
    await jumpOften({ options, open, random, tally });
    return tally.report();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export interface Jumps {
  readonly options: PartOptions;
  /** A handle of its own on the store that all share. */
  readonly open: () => Store;
  readonly random: () => number;
  readonly tally: Tally;
}

export async function jumpOften({ options, open, random, tally }: Jumps): Promise<void> {
  const clocks = [new JumpingClock(), new JumpingClock()];
  const buses: Bus[] = [];
  for (const clock of clocks)
    buses.push(await createBus({ store: open(), clock, leaseMs: 2_000, onTrouble: () => undefined }));
  const load = new BusLoad(buses, { partitions: 4 });
  await load.start();
  await load.progress(50);
  for (let round = 0; goesOn(options, round); round++) {
    const ms = (round % 2 === 0 ? HOUR_MS : -HOUR_MS) * (random() < 0.5 ? 1 : random());
    const together = round % 3 !== 2;
    if (together) for (const clock of clocks) clock.jump(ms);
    else clocks[round % clocks.length]?.jump(ms);
    tally.fault(`${together ? "all clocks" : "one clock"} jump ${ms > 0 ? "forward" : "back"}`);
    await load.progress(30);
    await pause(random() * 500);
  }
  const verdict = await load.finish();
  tally.checked("publishes acknowledged", verdict.acked);
  tally.checked("events delivered", verdict.delivered);
  tally.checked("events redelivered, marked", verdict.redelivered);
  for (const { class: name, says } of verdict.anomalies) tally.anomaly(name, says);
  for (const bus of buses) await bus.close();
}
