import { describe, expect, it } from "vitest";
import { gate, settled } from "../../test/support/eventually.js";
import { eachAtMost } from "./each-at-most.js";

describe("eachAtMost", () => {
  it("works on all of them, on so many at once and no more", async () => {
    const opened = gate();
    const begun: number[] = [];
    const working = eachAtMost(2, [1, 2, 3, 4, 5], async (item) => {
      begun.push(item);
      await opened.passed;
    });
    await settled();
    expect(begun).toEqual([1, 2]);
    opened.open();
    await working;
    expect(begun).toEqual([1, 2, 3, 4, 5]);
  });

  it("begins no more once one has failed, and says how it failed", async () => {
    const begun: number[] = [];
    const working = eachAtMost(2, [1, 2, 3, 4, 5], async (item) => {
      begun.push(item);
      if (item === 2) throw new Error("no");
    });
    await expect(working).rejects.toThrow("no");
    await settled();
    expect(begun).toEqual([1, 2, 3]);
  });

  it("has nothing to do with nothing", async () => {
    await eachAtMost(2, [], () => Promise.reject(new Error("asked for")));
  });
});
