/**
 * Processes that share one store file stand still for longer than their leases (SIGSTOP), lose their partitions to others,
 * and wake up believing to own them still. What they then do must change nothing (P7); nothing is lost, no second delivery
 * comes unmarked (P5), keys stay in order (P4), and what they published and heard of is there (P1).
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { seededRandom } from "../../src/model/manual-clock.js";
import type { PartitionHead } from "../../src/ports/log.js";
import { type EmbeddedStore, embeddedStore } from "../../src/stores/embedded/index.js";
import { storedLog } from "../support/kept-history.js";
import { ToldProcess } from "../support/told-process.js";
import { pause } from "./bus-load.js";
import { goesOn, type PartOptions, type PartReport, Tally } from "./report.js";

const TOPIC = "frozen";
const GROUP = "workers";
const LEASE_MS = 1_000;
const MEMBERS = 3;

interface Delivered {
  readonly type: "delivered";
  readonly partition: number;
  readonly seq: number;
  readonly key: string;
  readonly attempt: number;
  readonly atMs: number;
}

type Line =
  | Delivered
  | { readonly type: "ready" }
  | { readonly type: "acked"; readonly id: string; readonly partition: number; readonly seq: number }
  | { readonly type: "failed"; readonly id: string; readonly code: string };

export interface FreezeOptions extends PartOptions {
  /** freeze-child, compiled. */
  readonly program: URL;
}

export async function runFreezes(options: FreezeOptions): Promise<PartReport> {
  const tally = new Tally();
  const random = seededRandom(options.seed);
  const folder = await mkdtemp(join(tmpdir(), "promethean-freeze-"));
  const path = join(folder, "bus.db");
  const lines: Line[] = [];
  const members = Array.from({ length: MEMBERS }, (_, i) => {
    const args = [path, TOPIC, GROUP, String(LEASE_MS), `m${i}`];
    return new ToldProcess<Line>(fileURLToPath(options.program), args, (line) => void lines.push(line));
  });
  try {
    for (const member of members) await member.seen("ready", 60_000);
    for (let round = 0; goesOn(options, round); round++) {
      const member = members[Math.floor(random() * members.length)];
      await pause(300 + random() * 700);
      member?.freeze();
      tally.fault("process frozen beyond its lease");
      // A process frozen while it holds the file keeps the others from writing; that ends with the freeze.
      await pause(LEASE_MS * (1.5 + random() * 2));
      member?.thaw();
    }
    await pause(500);
    for (const member of members.slice(1)) await member.leave();
    const store = embeddedStore({ path, onWarning: () => undefined });
    await store.open();
    const heads = await settled(store, tally);
    await members[0]?.leave();
    await judge(store, lines, heads, tally);
    await store.close();
    return tally.report();
  } finally {
    for (const member of members) {
      member.thaw();
      await member.kill();
    }
    await rm(folder, { recursive: true, force: true });
  }
}

/** The last member publishes on, so the end is where the log was when the others had left. */
async function settled(store: EmbeddedStore, tally: Tally): Promise<readonly PartitionHead[]> {
  const heads = await store.log.heads(TOPIC);
  const deadlineMs = performance.now() + 60_000;
  for (;;) {
    const state = await store.groups.state({ topic: TOPIC, group: GROUP }, { nowMs: Date.now() });
    const behind = heads.filter(
      ({ partition, head }) =>
        (state?.leases.find((lease) => lease.partition === partition)?.cursor.floor ?? 0) < head,
    );
    if (behind.length === 0) return heads;
    if (performance.now() > deadlineMs) {
      tally.anomaly("stalled", `${behind.length} partitions are not settled a minute after the last freeze`);
      return heads;
    }
    await pause(20);
  }
}

async function judge(
  store: EmbeddedStore,
  lines: readonly Line[],
  heads: readonly PartitionHead[],
  tally: Tally,
): Promise<void> {
  const log = new Map<string, string>();
  for (const { partition } of await store.log.heads(TOPIC)) {
    for (const { seq, id } of await storedLog(store, TOPIC, partition)) log.set(`${partition}:${seq}`, id);
  }
  for (const line of lines) {
    if (line.type === "acked" && log.get(`${line.partition}:${line.seq}`) !== line.id)
      tally.anomaly("lost", `${line.id} was acknowledged at ${line.partition}:${line.seq} and is not there`);
    if (line.type === "acked") tally.checked("publishes acknowledged");
    if (line.type === "failed") tally.checked(`publishes refused with ${line.code}`);
  }
  const due = heads.reduce((sum, { head }) => sum + head, 0);
  const isDue = ({ partition, seq }: Delivered): boolean => seq <= (heads[partition]?.head ?? 0);
  judgeDeliveries(
    lines.filter((line): line is Delivered => line.type === "delivered" && isDue(line)),
    due,
    tally,
  );
}

function judgeDeliveries(deliveries: Delivered[], due: number, tally: Tally): void {
  const firsts = new Map<string, Delivered>();
  const firstTries = new Set<string>();
  for (const delivery of deliveries.sort((a, b) => a.atMs - b.atMs)) {
    const place = `${delivery.partition}:${delivery.seq}`;
    if (delivery.attempt === 1 && firstTries.has(place))
      tally.anomaly("duplicate-without-attempt", `${place} came twice as attempt 1`);
    if (delivery.attempt === 1) firstTries.add(place);
    if (!firsts.has(place)) firsts.set(place, delivery);
  }
  const lastOfKey = new Map<string, Delivered>();
  for (const delivery of [...firsts.values()].sort((a, b) => a.seq - b.seq)) {
    const before = lastOfKey.get(delivery.key);
    if (before !== undefined && delivery.atMs < before.atMs)
      tally.anomaly("key-order", `${delivery.key}: seq ${delivery.seq} came before seq ${before.seq}`);
    lastOfKey.set(delivery.key, delivery);
  }
  if (firsts.size < due) tally.anomaly("lost", `${due - firsts.size} of ${due} events were never delivered`);
  tally.checked("events delivered", firsts.size);
  tally.checked("events redelivered, marked", deliveries.length - firsts.size);
}
