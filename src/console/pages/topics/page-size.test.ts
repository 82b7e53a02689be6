import { describe, expect, it } from "vitest";
import { pageSize } from "./page-size.js";

describe("the size of a page", () => {
  it("is as usual for events as they usually are, and for none", () => {
    expect(pageSize({ events: 0, bytes: 0 }, 100)).toBe(100);
    expect(pageSize({ events: 1_000, bytes: 500_000 }, 100)).toBe(100);
  });

  it("is smaller where each of them is a megabyte, and never too small to be of use", () => {
    expect(pageSize({ events: 100, bytes: 100_000_000 }, 100)).toBeLessThanOrEqual(8);
    expect(pageSize({ events: 3, bytes: 48_000_000 }, 50)).toBe(5);
  });
});
