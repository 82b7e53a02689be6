import { describe, expect, it } from "vitest";
import type { GroupStats, Stats } from "../../data/shapes.js";
import { layoutOf } from "./flow-layout.js";

const group = (topic: string, name: string, more: Partial<GroupStats> = {}): GroupStats => ({
  topic,
  group: name,
  lag: 0,
  lagSeconds: 0,
  members: 1,
  deliveredPerSecond: 5,
  ...more,
});

const stats = (topics: Record<string, number>, groups: readonly GroupStats[]): Stats => ({
  atMs: 0,
  topics: Object.entries(topics).map(([topic, publishedPerSecond]) => ({
    topic,
    published: 0,
    publishedPerSecond,
  })),
  groups,
  totals: { atMs: 0, published: 0, delivered: 0, acked: 0, nacked: 0, deadLettered: 0, handlerP99Ms: null },
  connections: 0,
  lag: 0,
  lagSeconds: 0,
  deadLetters: { open: 0, topics: {} },
});

describe("the flow picture", () => {
  it("draws nothing for an empty hub", () => {
    expect(layoutOf(stats({}, [])).nodes).toEqual([]);
  });

  it("leads from topics over their groups to the views these feed", () => {
    const { nodes, links } = layoutOf(
      stats({ slow: 1, fast: 9, "dlq.fast": 3 }, [
        group("slow", "changelog:orders__2"),
        group("fast", "mailer"),
      ]),
    );
    expect(nodes.map(({ id }) => id)).toEqual([
      "topic fast",
      "topic slow",
      "group fast mailer",
      "group slow changelog:orders__2",
      "view orders",
    ]);
    expect(links).toHaveLength(3);
  });

  it("keeps everything in its place when one rate passes another", () => {
    const groups = [group("b", "x"), group("a", "z"), group("a", "y")];
    const placesAt = (rates: Record<string, number>): (string | number)[][] =>
      layoutOf(stats(rates, groups)).nodes.map(({ id, y }) => [id, y]);
    expect(placesAt({ a: 1, b: 2 })).toEqual(placesAt({ a: 3, b: 2 }));
  });

  it("keeps every line within its row, also where a backlog is delivered faster than anything is published", () => {
    const { links } = layoutOf(stats({ a: 1 }, [group("a", "archiver", { deliveredPerSecond: 900 })]));
    expect(links.map(({ width }) => width <= 14)).toEqual([true]);
  });

  it("makes lines wider with the rate, and marks groups that are behind or paused", () => {
    const { nodes, links } = layoutOf(
      stats({ t: 10 }, [
        group("t", "a", { deliveredPerSecond: 10 }),
        group("t", "b", { deliveredPerSecond: 1, lag: 7, lagSeconds: 90 }),
        group("t", "c", { lag: 2, paused: { by: "ada", sinceMs: 0 } }),
      ]),
    );
    const widthOf = (id: string): number => links.find((link) => link.id.endsWith(id))?.width ?? 0;
    expect(widthOf("group t a")).toBeGreaterThan(widthOf("group t b"));
    const notes = Object.fromEntries(nodes.map(({ id, note }) => [id, note]));
    expect(notes["group t b"]).toBe("7 behind, 2 min");
    expect(notes["group t c"]).toBe("paused, 2 wait");
  });

  it("stays small however many groups there are", () => {
    const many = Array.from({ length: 500 }, (_, i) => group(`t${i % 50}`, `g${i}`));
    expect(layoutOf(stats({}, many)).nodes.length).toBeLessThan(30);
  });

  it("calls nobody behind who may be: compactors between rounds; and shows none that rests", () => {
    const far = { lag: 9, lagSeconds: 900 };
    const { nodes } = layoutOf(
      stats({ a: 1 }, [
        group("a", "compactor:a", far),
        group("a", "changelog:v", { ...far, resting: true }),
        group("a", "changelog:v__1"),
        group("a", "mailer", far),
      ]),
    );
    expect(nodes.filter(({ behind }) => behind).map(({ label }) => label)).toEqual(["mailer"]);
    expect(nodes.filter(({ label }) => label === "changelog:v")).toEqual([]);
    expect(new Set(nodes.map(({ id }) => id)).size).toBe(nodes.length);
  });
});
