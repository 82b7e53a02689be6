/** Reading everything and looking into every payload: a raw log, the store's pages, a group of the bus. */
import { readFile } from "node:fs/promises";
import type { Bus } from "../../../src/bus/bus.js";
import { systemClock } from "../../../src/model/clock.js";
import { START_CURSOR } from "../../../src/ports/groups.js";
import type { EmbeddedStore } from "../../../src/stores/embedded/index.js";
import { TOPIC } from "./sinks.js";

const PARTITION = { topic: TOPIC, group: "bench", partition: 0 };
const PAGE = 1_000;

interface Payload {
  readonly pid: number;
}

export async function scanRawLog(path: string): Promise<number> {
  const bytes = await readFile(path);
  let count = 0;
  for (let at = 0, end = bytes.indexOf(10); end >= 0; at = end + 1, end = bytes.indexOf(10, at)) {
    const { payload } = JSON.parse(bytes.toString("utf8", at, end)) as { payload: Payload };
    if (payload.pid > 0) count++;
  }
  return count;
}

export async function scanStore(
  store: EmbeddedStore,
  onPage: (through: number) => Promise<unknown> | undefined,
): Promise<number> {
  let count = 0;
  for (let after = 0; ; ) {
    const { events, through } = await store.log.read(TOPIC, 0, { after, limit: PAGE });
    if (events.length === 0) return count;
    for (const { record } of events) if ((record.payload as Payload).pid > 0) count++;
    await onPage(through);
    after = through;
  }
}

/** A group that has not seen anything: its cursor is committed after each page, while the next one is read. */
export async function consumeStore(store: EmbeddedStore): Promise<number> {
  const { groups } = store;
  const epoch = await claim(store);
  let committing: Promise<unknown> = Promise.resolve();
  const count = await scanStore(store, async (floor) => {
    await committing;
    committing = groups.commit(PARTITION, epoch, { ...START_CURSOR, floor, mark: floor });
  });
  await committing;
  return count;
}

async function claim({ groups }: EmbeddedStore): Promise<number> {
  const nowMs = Date.now();
  const member = systemClock.newId();
  await groups.open({ member, host: "bench", pid: 0, processStart: "" }, { nowMs, ttlMs: 60_000 });
  await groups.move(PARTITION, START_CURSOR);
  const claimed = await groups.claim(PARTITION, member, { nowMs });
  if (claimed === null) throw new Error("the partition could not be claimed");
  return claimed.epoch;
}

/** The same through the bus: leases, one handler call per event, acks, coalesced commits. */
export async function consumeByBus(bus: Bus, events: number): Promise<number> {
  let count = 0;
  await new Promise<void>((resolve, reject) => {
    const handle = async ({ payload }: { readonly payload: unknown }): Promise<void> => {
      if ((payload as Payload).pid > 0) count++;
      if (count === events) resolve();
    };
    bus.subscribe(TOPIC, systemClock.newId(), handle, { from: "earliest" }).catch(reject);
  });
  return count;
}
