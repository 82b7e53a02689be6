/**
 * Where retention by age cuts a partition off: behind the last event that is too old, with everything below it.
 *
 * Times are the publishers', and may be wrong. One from the past takes nothing along that is young; one farther ahead than
 * clocks differ holds nothing back, and says nothing about the age of its event either: that goes with the first older one
 * behind it. (So a process whose own clock is far behind takes nothing at all, instead of everything.)
 */
import type { Seq } from "../../model/event.js";
import type { Log, PartitionHead } from "../../ports/log.js";
import { scanPages } from "../log-scan.js";

/** Clocks differ by less than this; a ts farther ahead is wrong. */
const CLOCK_TOLERANCE_MS = 86_400_000;

interface Times {
  /** What is older goes. */
  readonly beforeMs: number;
  readonly nowMs: number;
}

/** How far a partition was looked through, and what was found: nothing of that is looked at again while it holds. */
interface Looked {
  /** Before the first event that is not too old by its ts. */
  readonly from: Seq;
  readonly beforeMs: number;
  through: Seq;
  cut: Seq;
  /** The earliest time that was not believed. */
  aheadMs: number;
}

export class AgeCuts {
  readonly #log: Log;
  readonly #looked = new Map<string, Looked>();

  constructor(log: Log) {
    this.#log = log;
  }

  async of(topic: string, { partition, head }: PartitionHead, { beforeMs, nowMs }: Times): Promise<Seq> {
    const from = Math.min(head, (await this.#log.seqAt(topic, partition, beforeMs)) - 1);
    const name = `${topic} ${partition}`;
    const known = this.#looked.get(name);
    const believedMs = nowMs + CLOCK_TOLERANCE_MS;
    const holds = known?.from === from && known.beforeMs <= beforeMs && known.aheadMs > believedMs;
    const looked: Looked = {
      ...(holds ? known : { from, through: from, cut: from, aheadMs: Number.POSITIVE_INFINITY }),
      beforeMs,
    };
    this.#looked.set(name, looked);
    const stretch = { topic, partition, after: looked.through, through: head };
    for await (const page of scanPages(this.#log, stretch, { pageSize: 20 })) {
      for (const { seq, ts } of page.events) {
        if (ts > believedMs) looked.aheadMs = Math.min(looked.aheadMs, ts);
        else if (ts >= beforeMs) return looked.cut;
        else looked.cut = seq;
        looked.through = seq;
      }
      looked.through = page.through;
    }
    return looked.cut;
  }
}
