import { describe, expect, it } from "vitest";
import { goesWell } from "./group-health.js";

const report = { group: "mailer", lag: 3, lagSeconds: 60, blocked: [] as unknown[] };

describe("a group goes well", () => {
  it("if it is up to date, or only a little behind", () => {
    expect([
      goesWell({ ...report, lag: 0 }),
      goesWell({ ...report, lagSeconds: 5 }),
      goesWell(report),
    ]).toEqual([true, true, false]);
  });

  it("also far behind, if it rests or works in rounds", () => {
    expect(goesWell({ ...report, group: "compactor:orders" })).toBe(true);
    expect(goesWell({ ...report, resting: true })).toBe(true);
  });

  it("not if a key is blocked", () => {
    expect(goesWell({ ...report, lagSeconds: 1, blocked: ["a key"] })).toBe(false);
  });
});
