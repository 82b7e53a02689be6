import { describe, expect, it } from "vitest";
import { bar, counted, duration, memorySize } from "./quantities.js";

describe("numbers for people", () => {
  it.each([
    [0, "0 s"],
    [999, "0 s"],
    [42_000, "42 s"],
    [180_000, "3 min"],
    [185_000, "3 min 5 s"],
    [7_800_000, "2 h 10 min"],
    [349_200_000, "4 d 1 h"],
  ])("says how long %d ms are", (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it("may name the largest unit alone", () => {
    expect(duration(185_000, 1)).toBe("3 min");
  });

  it("counts one and many", () => {
    expect(counted(1, "event")).toBe("1 event");
    expect(counted(1_234, "event")).toBe("1,234 events");
    expect(counted(0, "process", "processes")).toBe("0 processes");
  });

  it.each([
    [0.5, "0.5 MB"],
    [512.4, "512 MB"],
    [1_053, "1,053 MB"],
    [20_480, "20.0 GB"],
  ])("says how much %d megabytes are", (megabytes, text) => {
    expect(memorySize(megabytes)).toBe(text);
  });

  it.each([
    [0, ""],
    [0.5, "██"],
    [0.125, "▌"],
    [1, "████"],
    [7, "████"],
    [-1, ""],
  ])("draws a share of %d in four columns", (share, drawn) => {
    expect(bar(share, 4)).toBe(drawn);
  });
});
