/**
 * Kills workers at work, over and over, with kill -9 and at moments of chance, while there is more and more to do; lets
 * the last one finish, and judges what is left.
 */
import { fileURLToPath } from "node:url";
import { pause, systemClock } from "../../../../src/model/clock.js";
import { seededRandom } from "../../../../src/model/manual-clock.js";
import type { Store } from "../../../../src/ports/store.js";
import { ToldProcess } from "../../../support/told-process.js";
import { type KillPlace, openPlace } from "./place.js";
import { ROLES, type RoleName } from "./roles.js";

export interface KillRunOptions {
  readonly role: RoleName;
  readonly place: KillPlace;
  /** worker-process, compiled. */
  readonly program: URL;
  readonly cycles: number;
  readonly seed: number;
}

export interface KillRun {
  readonly kills: number;
  readonly anomalies: readonly string[];
}

const LONGEST_LIFE_MS = 150;
const WORKING_MS = 120_000;
/** The last one has to do what the killed ones left. */
const FINISHED_MS = 600_000;

export async function runKills({ role, place, program, cycles, seed }: KillRunOptions): Promise<KillRun> {
  const random = seededRandom(seed);
  const opened = await openPlace(place);
  try {
    const { store } = opened.bus;
    const assignment = await ROLES[role].prepare(opened);
    for (let cycle = 0; cycle < cycles; cycle++) {
      const args = [role, JSON.stringify(place)];
      const child = new ToldProcess(fileURLToPath(program), args, () => undefined);
      try {
        await assignment.burst(seed + cycle * 1_000);
        await child.seen("working", WORKING_MS);
        await pause(systemClock, random() * LONGEST_LIFE_MS);
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

/** What time would do as well: the sessions of the dead end. */
async function endSessions(store: Store, pid: number): Promise<void> {
  const nowMs = Date.now();
  for (const session of await store.groups.sessions({ nowMs })) {
    if (session.pid === pid) await store.groups.close(session.member, { nowMs });
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
