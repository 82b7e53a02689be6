/** Frames that settle or extend leases of a subscription: each says what is lost, in words for an answer, or null. */
import type { Delivered } from "../../consume/context.js";
import type { LeaseName, LeaseRange, ModackFrame } from "../protocol.js";
import type { Feed } from "./feed.js";
import type { SettleFrame } from "./session-effects.js";

/** Settles all that can be. */
export function settle(feed: Feed | undefined, frame: SettleFrame): string | null {
  if (frame.type === "NACK") {
    const error = frame.reason ?? "nacked";
    const delivery = feed?.leases.take(frame) ?? null;
    if (delivery === null) return lostOne(frame);
    feed?.endSpan(delivery.event.id, error);
    return delivery.source.failed(delivery, { error }) ? null : lostOne(frame);
  }
  if ("leases" in frame) return settleRanges(feed, frame.leases);
  const { attempt, epoch } = frame;
  const ids = "ids" in frame ? frame.ids : [frame.id];
  const lost = ids.filter((id) => !handled(feed, feed?.leases.takeById(id, attempt, epoch)));
  return lost.length === 0 ? null : told(`event ${lost[0]}`, lost.length);
}

export function extend(feed: Feed | undefined, frame: ModackFrame): string | null {
  const delivery = feed?.leases.find(frame);
  return delivery?.source.extend(delivery, frame.extend_ms) ? null : lostOne(frame);
}

function settleRanges(feed: Feed | undefined, ranges: readonly LeaseRange[]): string | null {
  const lost: number[] = [];
  for (const [first, last] of ranges) settleRange(feed, first, last, lost);
  return lost.length === 0 ? null : told(`the event of lease ${lost[0]}`, lost.length);
}

/** Events of one partition that follow each other are settled together. */
function settleRange(feed: Feed | undefined, first: number, last: number, lost: number[]): void {
  let run: Delivered[] = [];
  for (let lease = first; lease <= last; lease++) {
    const delivery = feed?.leases.takeNumbered(lease) ?? null;
    if (delivery?.source !== run[0]?.source) {
      settleRun(run, lease, lost);
      run = [];
    }
    if (delivery === null) lost.push(lease);
    else run.push(delivery);
    if (delivery !== null && feed?.isTraced) feed.endSpan(delivery.event.id);
  }
  settleRun(run, last + 1, lost);
}

/** All of one partition, leased one after the other; `end` is the lease behind the last of them. */
function settleRun(run: readonly Delivered[], end: number, lost: number[]): void {
  const settled = run[0]?.source.handledAll(run) ?? run;
  if (settled.length === run.length) return;
  const done = new Set(settled);
  for (const [n, delivery] of run.entries()) if (!done.has(delivery)) lost.push(end - run.length + n);
}

/** False if its lease is gone. */
function handled(feed: Feed | undefined, delivery: Delivered | null | undefined): boolean {
  if (feed === undefined || delivery === null || delivery === undefined) return false;
  feed.endSpan(delivery.event.id);
  return delivery.source.handled(delivery);
}

function lostOne(name: LeaseName): string {
  return told("lease" in name ? `the event of lease ${name.lease}` : `event ${name.id}`, 1);
}

function told(first: string, count: number): string {
  const others = count === 1 ? "" : ` (and ${count - 1} more)`;
  return `${first}${others} is not leased to this connection in that attempt`;
}
