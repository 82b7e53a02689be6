/**
 * A group whose members, each a process of its own, come, leave, are killed and are frozen beyond their lease while
 * events flow; and the judgement on it: nothing lost, no second delivery unmarked (P5), each key in order (P4), a
 * frozen member moved nothing after it woke (P7), and partitions moved little more than they had to.
 */
import { fileURLToPath } from "node:url";
import { createBus } from "../../../src/bus/create-bus.js";
import { seededRandom } from "../../../src/model/manual-clock.js";
import { mongoStore } from "../../../src/stores/mongo/index.js";
import { ToldProcess } from "../../support/told-process.js";

export interface GroupRunOptions {
  /** group-member, compiled. */
  readonly program: URL;
  readonly url: string;
  readonly db: string;
  readonly seconds: number;
  readonly seed: number;
  readonly partitions?: number;
}

export interface GroupRun {
  readonly anomalies: readonly string[];
  readonly published: number;
  readonly delivered: number;
  readonly redelivered: number;
  readonly joins: number;
  readonly leaves: number;
  readonly kills: number;
  readonly freezes: number;
  readonly moves: number;
  /** A fair share for each change of members: for comparison, not a lower bound. */
  readonly estimatedMoves: number;
}

interface Delivery {
  readonly type: "delivered";
  readonly partition: number;
  readonly seq: number;
  readonly key: string;
  readonly attempt: number;
  readonly atMs: number;
}

type Line = Delivery | { readonly type: "ready" };
type Member = ToldProcess<Line>;

const TOPIC = "group-run";
const GROUP = "workers";
const LEASE_MS = 3_000;

export async function runGroup(options: GroupRunOptions): Promise<GroupRun> {
  const { url, db, partitions = 12 } = options;
  const bus = await createBus({
    store: mongoStore({ url, db }),
    topics: [{ name: TOPIC, partitions }],
    onTrouble: () => undefined,
  });
  const deliveries: Delivery[] = [];
  const counts = { joins: 0, leaves: 0, kills: 0, freezes: 0, estimatedMoves: 0 };
  const members: Member[] = [];
  const join = async (): Promise<void> => {
    const args = [url, db, TOPIC, GROUP, String(LEASE_MS)];
    const member: Member = new ToldProcess(fileURLToPath(options.program), args, (line) => {
      if (line.type === "delivered") deliveries.push(line);
    });
    members.push(member);
    counts.joins++;
    counts.estimatedMoves += Math.floor(partitions / members.length);
    await member.seen("ready");
  };
  for (let i = 0; i < 3; i++) await join();
  const watch = watchOwners(bus);
  const publishing = publishFor(bus, options.seconds);
  await disturb(options, members, join, counts);
  const published = await publishing;
  await drained(bus, partitions);
  for (const member of members) await member.leave();
  const moves = await watch.stop();
  await bus.close();
  return { ...judge(deliveries, published), ...counts, published, moves };
}

type Counts = { leaves: number; kills: number; freezes: number; estimatedMoves: number };

async function disturb(
  options: GroupRunOptions,
  members: Member[],
  join: () => Promise<void>,
  counts: Counts,
): Promise<void> {
  const random = seededRandom(options.seed);
  const endMs = performance.now() + options.seconds * 1_000;
  const partitions = options.partitions ?? 12;
  while (performance.now() < endMs) {
    await wait(500 + random() * 1_500);
    const chance = random();
    if (members.length <= 1 || (members.length < 4 && chance < 0.4)) {
      await join();
      continue;
    }
    const [member] = members.splice(Math.floor(random() * members.length), 1) as [Member];
    counts.estimatedMoves += Math.ceil(partitions / (members.length + 1));
    if (chance < 0.6) {
      counts.leaves++;
      await member.leave();
    } else if (chance < 0.85) {
      counts.kills++;
      await member.kill();
    } else {
      counts.freezes++;
      member.freeze();
      await wait(LEASE_MS + 1_500);
      member.thaw();
      counts.estimatedMoves += Math.floor(partitions / (members.length + 1));
      members.push(member);
    }
  }
}

/** About 200 events a second over 40 keys. */
async function publishFor(bus: Awaited<ReturnType<typeof createBus>>, seconds: number): Promise<number> {
  let n = 0;
  for (const endMs = performance.now() + seconds * 1_000; performance.now() < endMs; ) {
    await bus.publishMany(
      TOPIC,
      Array.from({ length: 10 }, () => ({ payload: { n }, key: `k${n++ % 40}` })),
    );
    await wait(50);
  }
  return n;
}

async function drained(bus: Awaited<ReturnType<typeof createBus>>, partitions: number): Promise<void> {
  for (const untilMs = performance.now() + 60_000; ; ) {
    const position = await bus.getCursor(TOPIC, GROUP);
    if (position?.partitions.length === partitions && position.partitions.every(({ lag }) => lag === 0))
      return;
    if (performance.now() > untilMs)
      throw new Error(`P15: not drained: ${JSON.stringify(position?.partitions)}`);
    await wait(100);
  }
}

/** Counts how often a partition is found with another owner than before. */
function watchOwners(bus: Awaited<ReturnType<typeof createBus>>): { stop(): Promise<number> } {
  const owners = new Map<number, string>();
  let moves = 0;
  let over = false;
  const watching = (async () => {
    while (!over) {
      for (const { partition, owner } of (await bus.getCursor(TOPIC, GROUP))?.partitions ?? []) {
        if (owner === null) continue;
        if (owners.has(partition) && owners.get(partition) !== owner) moves++;
        owners.set(partition, owner);
      }
      await wait(100);
    }
  })();
  const stop = async (): Promise<number> => {
    over = true;
    await watching;
    return moves;
  };
  return { stop };
}

function judge(
  deliveries: readonly Delivery[],
  published: number,
): Pick<GroupRun, "anomalies" | "delivered" | "redelivered"> {
  const anomalies: string[] = [];
  const firsts = new Map<string, Delivery>();
  const firstTries = new Map<string, number>();
  for (const delivery of [...deliveries].sort((a, b) => a.atMs - b.atMs)) {
    const place = `${delivery.partition}:${delivery.seq}`;
    if (!firsts.has(place)) firsts.set(place, delivery);
    if (delivery.attempt === 1) firstTries.set(place, (firstTries.get(place) ?? 0) + 1);
  }
  for (const [place, tries] of firstTries) {
    if (tries > 1) anomalies.push(`duplicate-without-attempt: ${place} came ${tries} times as attempt 1`);
  }
  if (firsts.size !== published)
    anomalies.push(`lost: ${published - firsts.size} of ${published} events were never delivered`);
  const lastOfKey = new Map<string, Delivery>();
  for (const delivery of [...firsts.values()].sort((a, b) => a.seq - b.seq)) {
    const before = lastOfKey.get(delivery.key);
    if (before !== undefined && delivery.atMs < before.atMs) {
      anomalies.push(
        `key-order: ${delivery.key} seq ${delivery.seq} was first delivered before seq ${before.seq}`,
      );
    }
    lastOfKey.set(delivery.key, delivery);
  }
  return { anomalies, delivered: firsts.size, redelivered: deliveries.length - firsts.size };
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
