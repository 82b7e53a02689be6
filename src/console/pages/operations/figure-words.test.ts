import { describe, expect, it } from "vitest";
import { figureWords } from "./figure-words.js";

describe("figures of jobs and background parts", () => {
  it.each([
    [{ redriven: 1, passedOver: 0, superseded: 0 }, "1 redriven"],
    [{ redriven: 12, passedOver: 3, superseded: 0 }, "12 redriven · 3 passed over"],
    [{ phase: "done", events: 3_047, total: 3_047, etaSeconds: 0 }, "3,047 events"],
    [
      { phase: "building", events: 1_000, total: 3_047, etaSeconds: 12 },
      "building · 1,000 of 3,047 events · 12 s left",
    ],
    [{ rounds: 1, snapshotEntries: 1, processes: 1 }, "1 round · 1 snapshot entry · 1 process"],
    [{ rounds: 0, scanned: 0 }, "nothing yet"],
    [{ trimmedBytes: 2_048, waitedMs: 1_500, lastError: null, odd: {} }, "2.0 KiB trimmed · waited 1.5 s"],
    [{ place: "3:42" }, "place 3:42"],
    [{}, "nothing yet"],
  ])("%j", (figures, words) => {
    expect(figureWords(figures)).toBe(words);
  });
});
