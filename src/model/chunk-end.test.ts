import { describe, expect, it } from "vitest";
import { chunkEnd } from "./chunk-end.js";

const bytesOf = (item: number): number => item;

describe("where a chunk ends", () => {
  it.each([
    ["with the items", [1, 1], 0, { items: 9, bytes: 9 }, 2],
    ["at so many items", [1, 1, 1], 0, { items: 2, bytes: 9 }, 2],
    ["counted from where it begins", [1, 1, 1, 1], 1, { items: 2, bytes: 9 }, 3],
    ["with exactly as many bytes as are allowed", [4, 5, 1], 0, { items: 9, bytes: 9 }, 2],
    ["behind one that is too large for any", [10, 1], 0, { items: 9, bytes: 9 }, 1],
    ["before one that is too large for it", [1, 10, 1], 0, { items: 9, bytes: 9 }, 1],
    ["where it begins, if nothing is left", [1], 1, { items: 9, bytes: 9 }, 1],
  ])("%s", (_, items, start, bounds, end) => {
    expect(chunkEnd(items, start, bounds, bytesOf)).toBe(end);
  });
});
