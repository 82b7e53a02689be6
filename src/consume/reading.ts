/** Reads a topic outside any group: partitions merged by time, each in its own order, up to the heads at the start. */
import type { Seq, StoredEvent } from "../model/event.js";
import { nextTurn } from "../model/next-turn.js";
import type { Log } from "../ports/log.js";
import { floorsOf, type Wish } from "./position.js";

export interface Reading {
  readonly wish: Wish;
  /** Only this partition. */
  readonly partition?: number;
  readonly pageSize: number;
}

interface Lane {
  readonly partition: number;
  readonly end: Seq;
  after: Seq;
  page: readonly StoredEvent[];
  next: number;
}

export async function* readTopic(log: Log, topic: string, reading: Reading): AsyncGenerator<StoredEvent> {
  const heads = await log.heads(topic);
  const floors = await floorsOf(log, topic, reading.wish);
  const lanes: Lane[] = heads
    .filter(({ partition }) => reading.partition === undefined || partition === reading.partition)
    .map(({ partition, head }) => ({
      partition,
      end: head,
      after: floors[partition] ?? 0,
      page: [],
      next: 0,
    }));
  for (;;) {
    let earliest: Lane | undefined;
    for (const lane of lanes) {
      if (lane.next >= lane.page.length) await turnPage(log, topic, lane, reading.pageSize);
      const event = lane.page[lane.next];
      if (event === undefined) continue;
      if (earliest === undefined || event.ts < (earliest.page[earliest.next] as StoredEvent).ts)
        earliest = lane;
    }
    if (earliest === undefined) return;
    yield earliest.page[earliest.next++] as StoredEvent;
  }
}

async function turnPage(log: Log, topic: string, lane: Lane, limit: number): Promise<void> {
  while (lane.after < lane.end) {
    const page = await log.read(topic, lane.partition, { after: lane.after, limit });
    await nextTurn();
    lane.page = page.events.filter((event) => event.seq <= lane.end);
    lane.next = 0;
    lane.after = Math.max(page.through, lane.after + 1);
    if (lane.page.length > 0) return;
  }
  lane.page = [];
  lane.next = 0;
}
