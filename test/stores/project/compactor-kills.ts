/**
 * Kills compactors at work, over and over, while events are published, and compares what is left with what was
 * published: nothing that a key still stands for may be gone (P11), in the log and in its snapshot.
 */
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { createBus } from "../../../src/bus/create-bus.js";
import { pause } from "../../../src/model/clock.js";
import type { EventRecord } from "../../../src/model/event.js";
import { seededRandom } from "../../../src/model/manual-clock.js";
import { snapshotTopic } from "../../../src/model/topic.js";
import type { Store } from "../../../src/ports/store.js";
import { compactNow } from "../../../src/project/compactor.js";
import { SNAPSHOT_GROUP, type SnapshotEntry } from "../../../src/project/snapshot.js";
import { ToldProcess } from "../../support/told-process.js";
import { finalState, traffic } from "./bench.js";

export interface KillOptions {
  readonly store: Store;
  /** compactor-process, compiled. */
  readonly program: URL;
  /** Path of the file, or address and name of the database. */
  readonly place: readonly [string, string];
  readonly kills: number;
  readonly seed: number;
}

const TOPIC = "killed";

export async function killCompactors({ store, program, place, kills, seed }: KillOptions): Promise<void> {
  const random = seededRandom(seed);
  const bus = await createBus({ store });
  await bus.defineTopic({ name: TOPIC, partitions: 2, compaction: true, tombstoneRetentionMs: 0 });
  const published: EventRecord[] = [];
  for (let kill = 0; kill < kills; kill++) {
    const child = new ToldProcess(fileURLToPath(program), [...place, TOPIC], () => undefined);
    for (let burst = 0; burst < 6; burst++) {
      const items = traffic({ events: 40, keys: 30, seed: seed + kill * 1_000 + burst });
      published.push(...(await bus.publishMany(TOPIC, items)));
    }
    await child.seen("working", 60_000);
    await pause(bus.clock, random() * 150);
    await child.kill();
    await endSessions(store);
  }
  const expected = finalState(published);
  const left = async (topic: string): Promise<EventRecord[]> => {
    const events: EventRecord[] = [];
    for await (const event of bus.read(topic)) events.push(event);
    return events.sort((a, b) => a.seq - b.seq);
  };
  const found = await left(TOPIC);
  expect(finalState(found)).toEqual(expected);
  expect(found.length).toBeLessThan(published.length);
  await compactNow(bus, { topic: TOPIC, pauseMs: 0, keepSnapshotsMs: 0 });
  const log = await left(TOPIC);
  expect(finalState(log)).toEqual(expected);
  expect(log.filter(({ key }) => key !== undefined)).toHaveLength(Object.keys(expected).length);
  const entries = (await left(snapshotTopic(TOPIC))).map((entry) => ({
    ...entry,
    payload: (entry.payload as SnapshotEntry).payload,
  }));
  expect(finalState(entries)).toEqual(expected);
  await bus.close();
}

/** What time would do as well: the sessions of the dead end. */
async function endSessions(store: Store): Promise<void> {
  const nowMs = Date.now();
  const state = await store.groups.state({ topic: TOPIC, group: SNAPSHOT_GROUP }, { nowMs });
  for (const { owner } of state?.leases ?? []) {
    if (owner !== null) await store.groups.close(owner, { nowMs });
  }
}
