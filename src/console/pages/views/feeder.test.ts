import { describe, expect, it } from "vitest";
import { feederOf, viewOf } from "./feeder.js";

describe("the group that feeds a view", () => {
  it("is the one of the newest build, counted, not spelled", () => {
    const groups = ["changelog:orders", "changelog:orders__9", "changelog:orders__10", "changelog:orders-2"];
    const found = feederOf(
      { view: "orders" },
      groups.map((group) => ({ group })),
    );
    expect(found?.group).toBe("changelog:orders__10");
  });

  it("is none that rests: after the way back the newest build feeds nobody", () => {
    const groups = [{ group: "changelog:orders" }, { group: "changelog:orders__1", resting: true as const }];
    expect(feederOf({ view: "orders" }, groups)?.group).toBe("changelog:orders");
  });

  it("is known by its name alone", () => {
    expect(["changelog:a.b__3", "changelog:a__b", "mailer"].map(viewOf)).toEqual(["a.b", "a__b", null]);
  });
});
