import { expect, it } from "vitest";
import { leftOutText, Seldom } from "./seldom.js";

it("tells the first at once, then one a span with how many were left out; kinds do not hide each other", () => {
  const seldom = new Seldom(1_000);
  expect(seldom.admit("A", 5)).toBe(0);
  for (let n = 0; n < 10_000; n++) expect(seldom.admit("A", 5 + n / 20)).toBeNull();
  expect(seldom.admit("B", 900)).toBe(0);
  expect(seldom.admit("A", 1_004)).toBeNull();
  expect(seldom.admit("A", 1_005)).toBe(10_001);
  expect(seldom.admit("A", 1_500)).toBeNull();
  expect(seldom.admit("A", 9_000)).toBe(1);
  expect(seldom.admit("A", 99_000)).toBe(0);
});

it("keeps so many kinds at most, and forgets the one that was told longest ago", () => {
  const seldom = new Seldom(1_000, 2);
  for (const [kind, nowMs] of [
    ["A", 0],
    ["B", 1],
  ] as const)
    expect(seldom.admit(kind, nowMs)).toBe(0);
  expect(seldom.admit("A", 1_000)).toBe(0);
  expect(seldom.admit("C", 1_001)).toBe(0);
  expect(seldom.admit("A", 1_002)).toBeNull();
  expect(seldom.admit("B", 1_003)).toBe(0);
});

it("tells of more kinds than it keeps no more often than of one of them", () => {
  const seldom = new Seldom(1_000, 3);
  const told: string[] = [];
  for (let n = 0; n < 30_000; n++)
    if (seldom.admit(`group ${n % 50}`, n / 10) !== null) told.push(`${n % 50}`);
  expect(told.slice(0, 4)).toEqual(["0", "1", "2", "3"]);
  // Three that it keeps and the others together, in each of three spans.
  expect(told).toHaveLength(12);
});

it("says how many were left out, and nothing of none", () => {
  expect([leftOutText(0), leftOutText(7)]).toEqual(["", " (and 7 more like it)"]);
});
