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

  it("of a proxy whose hub is away is that of a hub that may be back", () => {
    expect([502, 504].map((status) => new Problem(status, "ERROR", "").isOffline)).toEqual([true, true]);
  });

  it("is a refusal if asking again cannot help", () => {
    const refusals = [0, 400, 401, 403, 404, 408, 429, 500, 502].filter(
      (status) => new Problem(status, "ERROR", "").isRefusal,
    );
    expect(refusals).toEqual([400, 401, 403, 404]);
  });
});
