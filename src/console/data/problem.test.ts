import { describe, expect, it } from "vitest";
import { Problem, problemFrom } from "./problem.js";

describe("a problem", () => {
  it("is that of a hub that may be back, unless it says what waiting does not mend", () => {
    const offline = (status: number, code: string): boolean => new Problem(status, code, "").isOffline;
    expect(problemFrom(new TypeError("fetch failed")).isOffline).toBe(true);
    expect([offline(503, "CLOSED"), offline(503, "STORE_UNAVAILABLE")]).toEqual([true, true]);
    expect([
      offline(503, "STORE_DAMAGED"),
      offline(503, "STORE_INCOMPATIBLE"),
      offline(403, "FORBIDDEN"),
    ]).toEqual([false, false, false]);
  });
});
