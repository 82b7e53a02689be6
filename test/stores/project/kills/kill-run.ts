/**
 * Kills workers at work, over and over, with kill -9 and at moments of chance, while there is more and more to do; lets
 * the last one finish, and judges what is left.
 */
import { fileURLToPath } from "node:url";
import { pause, systemClock } from "../../../../src/model/clock.js";
import { seededRandom } from "../../../../src/model/manual-clock.js";
import { endSessions } from "../../../support/ended-sessions.js";
import type { StorePlace } from "../../../support/store-place.js";
import { ToldProcess } from "../../../support/told-process.js";
import type { Death } from "../../crash/points.js";
import { openPlace } from "./place.js";
import { ROLES, type RoleName } from "./roles.js";

export interface KillRunOptions {
  readonly role: RoleName;
  readonly place: StorePlace;
  /** worker-process, compiled. */
  readonly program: URL;
  readonly cycles: number;
  readonly seed: number;
  /** Names of points at which the workers die, in turns; none: they are killed at moments of chance. */
  readonly points?: readonly string[];
}

export interface KillRun {
  readonly kills: number;
  readonly anomalies: readonly string[];
}

const LONGEST_LIFE_MS = 150;
const WORKING_MS = 120_000;
/** The last one has to do what the killed ones left. */
const FINISHED_MS = 600_000;

export async function runKills(options: KillRunOptions): Promise<KillRun> {
  const { role, place, program, cycles, seed, points = [] } = options;
  const random = seededRandom(seed);
  const opened = await openPlace(place);
  try {
    const { store } = opened.bus;
    const assignment = await ROLES[role].prepare(opened);
    for (let cycle = 0; cycle < cycles; cycle++) {
      const at = points[cycle % points.length];
      const death: Death | null = at === undefined ? null : { at, nth: 1 + Math.floor(random() * 3) };
      const args = [role, JSON.stringify(place), JSON.stringify(death)];
      const child = new ToldProcess(fileURLToPath(program), args, () => undefined);
      try {
        await assignment.burst(seed + cycle * 1_000);
        if (death !== null) await child.killed(WORKING_MS);
        else {
          await child.seen("working", WORKING_MS);
          await pause(systemClock, random() * LONGEST_LIFE_MS);
        }
      } finally {
        await child.kill();
      }
      await endSessions(store, child.pid);
    }
    const last = await ROLES[role].work(opened);
    try {
      if (!(await until(() => assignment.finished())))
        return { kills: cycles, anomalies: ["it never finished"] };
    } finally {
      await last.stop();
    }
    return { kills: cycles, anomalies: await assignment.anomalies() };
  } finally {
    await opened.close();
  }
}

/** False if that takes too long. */
async function until(condition: () => Promise<boolean>): Promise<boolean> {
  const endMs = performance.now() + FINISHED_MS;
  while (performance.now() < endMs) {
    if (await condition()) return true;
    await pause(systemClock, 50);
  }
  return false;
}
