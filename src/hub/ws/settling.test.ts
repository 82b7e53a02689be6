import { describe, expect, it } from "vitest";
import type { Delivered } from "../../consume/context.js";
import { Feed } from "./feed.js";
import { settle } from "./settling.js";

const subscription = { topic: "t", group: "g" };

/** A partition's deliveries, some of which are no longer leased when they are settled. */
class Partition {
  readonly epoch = 1;
  readonly runs: string[][] = [];
  readonly #gone: ReadonlySet<string>;

  constructor(...gone: string[]) {
    this.#gone = new Set(gone);
  }

  handledAll(deliveries: readonly Delivered[]): readonly Delivered[] {
    this.runs.push(deliveries.map(({ event }) => event.id));
    return deliveries.filter(({ event }) => !this.#gone.has(event.id));
  }
}

/** A feed whose leases 1, 2, … are of these partitions, in events a, b, … */
function leased(...sources: readonly Partition[]): Feed {
  const feed = new Feed({ type: "SUBSCRIBE", ...subscription }, true, 0);
  for (const [n, source] of sources.entries()) {
    const delivery = { source, event: { id: String.fromCharCode(97 + n) } };
    feed.lease(delivery as unknown as Delivered);
  }
  return feed;
}

const ack = (feed: Feed | undefined, ...leases: (readonly [number, number])[]): string | null =>
  settle(feed, { type: "ACK", ...subscription, leases });

describe("an ACK of leases", () => {
  it("settles those of one partition together, in order", () => {
    const [one, other] = [new Partition(), new Partition()];
    const feed = leased(one, one, other, one, one);
    expect(ack(feed, [1, 5])).toBeNull();
    expect(one.runs.filter((run) => run.length > 0)).toEqual([
      ["a", "b"],
      ["d", "e"],
    ]);
    expect(other.runs).toEqual([["c"]]);
    expect(feed.leases.size).toBe(0);
  });

  it("P6: settles each once, and tells of the first that is gone and how many others are", () => {
    const source = new Partition("b", "d");
    const feed = leased(source, source, source, source);
    expect(ack(feed, [1, 1])).toBeNull();
    expect(ack(feed, [1, 6])).toContain("lease 1 (and 4 more)");
    expect(source.runs).toEqual([["a"], ["b", "c", "d"]]);
    expect(ack(feed, [3, 3])).toContain("lease 3 is");
    expect(source.runs).toHaveLength(2);
  });

  it("P6: names the lease that a partition refuses, also behind a gap", () => {
    const source = new Partition("d");
    const feed = leased(source, source, source, source);
    ack(feed, [2, 2]);
    expect(ack(feed, [1, 1], [3, 4])).toContain("lease 4 is");
  });

  it("ends the spans of those that it names", () => {
    const source = new Partition();
    const feed = leased(source, source, source);
    const ended: string[] = [];
    for (const id of ["a", "b", "c"]) feed.spans.set(id, { end: () => void ended.push(id) } as never);
    ack(feed, [1, 2]);
    expect(ended).toEqual(["a", "b"]);
    expect([...feed.spans.keys()]).toEqual(["c"]);
  });

  it("P6: finds nothing without a subscription", () => {
    expect(ack(undefined, [1, 2])).toContain("lease 1 (and 1 more)");
  });
});
