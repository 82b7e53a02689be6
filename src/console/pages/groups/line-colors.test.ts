import { describe, expect, it } from "vitest";
import { colorsOf } from "./line-colors.js";

describe("the colours of lines", () => {
  it("stay with their lines when others come and go, and no two are the same", () => {
    const colors = ["red", "green", "blue"];
    const first = colorsOf(new Map(), [0, 1, 2], colors);
    expect([...first]).toEqual([
      [0, "red"],
      [1, "green"],
      [2, "blue"],
    ]);
    const next = colorsOf(first, [1, 2, 40], colors);
    expect([...next]).toEqual([
      [1, "green"],
      [2, "blue"],
      [40, "red"],
    ]);
  });
});
