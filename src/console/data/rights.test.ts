import { describe, expect, it } from "vitest";
import { allows, type Rule, readingReach } from "./rights.js";

const allow = (verb: Rule["verbs"][number], ...resources: string[]): Rule => ({
  effect: "allow",
  verbs: [verb],
  resources,
});

const deny = (...given: Parameters<typeof allow>): Rule => ({ ...allow(...given), effect: "deny" });

describe("what the console offers", () => {
  it("offers nothing without a rule, and everything to whom all is open", () => {
    expect(allows([], "read", "orders")).toBe(false);
    expect(allows([allow("*", "**")], "ops", "redrive")).toBe(true);
  });

  it("takes a star as one segment and two as any number", () => {
    const rules = [allow("read", "orders.*", "process.**")];
    expect(["orders.placed", "process", "process.a.b"].map((t) => allows(rules, "read", t))).toEqual([
      true,
      true,
      true,
    ]);
    expect(["orders", "orders.a.b", "processes"].map((t) => allows(rules, "read", t))).toEqual([
      false,
      false,
      false,
    ]);
    expect(allows([allow("read", "a.**.z")], "read", "a.z")).toBe(true);
    expect(allows([allow("read", "**.z")], "read", "a.b.z")).toBe(true);
  });

  it("lets a denial win, and a subscription include reading", () => {
    const rules: Rule[] = [allow("subscribe", "**"), deny("read", "secret.**")];
    expect(allows(rules, "read", "orders")).toBe(true);
    expect(allows(rules, "read", "secret.a")).toBe(false);
    expect(allows(rules, "publish", "orders")).toBe(false);
  });

  it("takes groups that are named for all there are, and none named for all", () => {
    const groups = ["billing.eu", "shop"];
    const offered = (...rules: Rule[]): string[] => groups.filter((group) => allows(rules, "group", group));
    expect(offered(allow("ops", "**"))).toEqual(groups);
    expect(offered(allow("*", "**"), allow("group", "billing.*"))).toEqual(["billing.eu"]);
    expect(offered(deny("group", "billing.**"))).toEqual(["shop"]);
    expect(offered(deny("*", "**"))).toEqual(groups);
  });

  it.each([
    ["all", [allow("*", "**")]],
    ["all", [allow("subscribe", "*")]],
    ["some", [allow("read", "orders.*")]],
    ["some", [allow("read", "**"), deny("read", "secret.**")]],
    ["none", []],
    ["none", [allow("publish", "**"), allow("ops", "**")]],
    ["none", [allow("read", "orders.*"), deny("*", "**")]],
  ])("knows whether everything, something or nothing may be read: %s", (reach, rules) => {
    expect(readingReach(rules)).toBe(reach);
  });

  it("treats dead letters and snapshots as their topic", () => {
    const rules = [allow("read", "orders")];
    expect(allows(rules, "read", "dlq.orders")).toBe(true);
    expect(allows(rules, "read", "orders.snapshot")).toBe(true);
  });
});
