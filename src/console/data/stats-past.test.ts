import { describe, expect, it } from "vitest";
import type { Stats } from "./shapes.js";
import {
  deliveredRing,
  isFarBehind,
  known,
  lagRing,
  momentOf,
  Rings,
  topicRing,
  withSnapshot,
} from "./stats-past.js";

const snapshot = (n: number, groups = ["mailer"]): Stats => ({
  atMs: n,
  topics: [{ topic: "orders", published: n, publishedPerSecond: n }],
  groups: groups.map((group) => ({ topic: "orders", group, lag: n, lagSeconds: 1, members: 0 })),
  totals: { atMs: n, published: n, delivered: 0, acked: 0, nacked: 0, deadLettered: 0, handlerP99Ms: null },
  connections: 0,
  lag: n,
  lagSeconds: 2,
  deadLetters: { open: 3, topics: {} },
});

describe("the short past of each row", () => {
  it("keeps the last minute of each name and forgets names that are gone", () => {
    const rings = new Rings();
    for (let n = 1; n <= 70; n++) rings.take(snapshot(n));
    expect(rings.of(topicRing("orders"))).toHaveLength(60);
    expect(rings.of(topicRing("orders")).at(-1)).toBe(70);
    expect(rings.of(lagRing("orders", "mailer")).at(0)).toBe(11);
    expect(rings.of(deliveredRing("orders", "mailer"))).toEqual([]);
    rings.take(snapshot(71, []));
    expect(rings.of(lagRing("orders", "mailer"))).toEqual([]);
  });

  it("takes lag and dead letters from the snapshot into the hub's own sample", () => {
    expect(momentOf(snapshot(5))).toMatchObject({ atMs: 5, published: 5, lag: 5, lagSeconds: 1, dead: 3 });
  });

  it("counts no lag that nobody has to look after", () => {
    expect(momentOf(snapshot(5, ["mailer", "compactor:orders"]))).toMatchObject({ lag: 5 });
  });

  it("takes two looks within a moment for one, and keeps the order of time", () => {
    const first = { ...snapshot(10_000), past: [8_000, 9_000, 9_900].map((n) => snapshot(n).totals) };
    const times = (all: readonly { readonly atMs: number }[]): number[] => all.map(({ atMs }) => atMs);
    const opened = withSnapshot([], first);
    expect(times(opened)).toEqual([8_000, 9_000, 10_000]);
    expect(times(withSnapshot(opened, snapshot(10_020)))).toEqual([8_000, 9_000, 10_020]);
    expect(times(withSnapshot(opened, snapshot(11_000)))).toEqual([8_000, 9_000, 10_000, 11_000]);
  });

  it("draws no 0 where the hub kept nothing", () => {
    const unknown = { ...momentOf(snapshot(1)), lag: null, dead: null };
    const past = [unknown, momentOf(snapshot(4)), momentOf(snapshot(5))];
    expect([known(past, "lag"), known(past, "dead"), known(past, "handlerP99Ms")]).toEqual([
      [4, 5],
      [3, 3],
      [],
    ]);
  });
});

describe("a group that is far behind", () => {
  it("is one of more than a minute", () => {
    expect(isFarBehind({ group: "mailer", lagSeconds: 61 })).toBe(true);
    expect(isFarBehind({ group: "mailer", lagSeconds: 60 })).toBe(false);
  });

  it("is none that rests after a rebuild, or works in rounds: they alarm nobody", () => {
    expect(isFarBehind({ group: "changelog:orders", lagSeconds: 3_600, resting: true })).toBe(false);
    expect(isFarBehind({ group: "compactor:snapshot", lagSeconds: 3_600 })).toBe(false);
  });
});
