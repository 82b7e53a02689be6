import { describe, expect, it } from "vitest";
import { chooseProcesses, megabytes, percent, pickPids } from "./process-choice.js";

const sample = (pid: number, cpu_pct: number, mem_mb: number) => ({ pid, name: `p${pid}`, cpu_pct, mem_mb });
const pidsOf = (samples: readonly { pid: number }[]) => samples.map(({ pid }) => pid);

describe("the choice of processes", () => {
  it("takes all of a few", () => {
    const samples = [sample(1, 0, 1), sample(2, 5, 1)];
    expect(chooseProcesses(samples, new Set(), 2)).toEqual(samples);
  });

  it("takes those that weigh most, by cpu and by memory", () => {
    const samples = [sample(1, 0, 10), sample(2, 90, 10), sample(3, 0, 900), sample(4, 1, 10)];
    expect(pidsOf(chooseProcesses(samples, new Set(), 2))).toEqual([3, 2]);
  });

  it("keeps an old choice unless a newcomer weighs much more", () => {
    const samples = [sample(1, 10, 1), sample(2, 14, 1), sample(3, 20, 1)];
    expect(pidsOf(chooseProcesses(samples, new Set([1]), 1))).toEqual([1]);
    expect(pidsOf(chooseProcesses([...samples, sample(4, 80, 1)], new Set([1]), 1))).toEqual([4]);
  });
});

describe("the processes looked at in a round", () => {
  const many = Array.from({ length: 10 }, (_, i) => i + 1);

  it("are all of a few", () => {
    expect(pickPids([1, 2], new Set(), 5, 3)).toEqual([1, 2]);
  });

  it("are bounded, hold the old choice, and in some rounds every other one", () => {
    const seen = new Set<number>();
    for (let turn = 0; turn < 3; turn++) {
      const pids = pickPids(many, new Set([9]), turn, 4);
      expect(pids).toHaveLength(4);
      expect(new Set(pids).size).toBe(4);
      expect(pids[0]).toBe(9);
      for (const pid of pids) seen.add(pid);
    }
    expect([...seen].sort((a, b) => a - b)).toEqual(many);
  });

  it("are only of the old choice when that fills the round", () => {
    expect(pickPids(many, new Set([3, 4, 5]), 7, 2)).toEqual([3, 4]);
  });
});

describe("units", () => {
  it("are megabytes and percent of one processor, with one decimal", () => {
    expect(megabytes(1_048_576 * 12.34)).toBe(12.3);
    expect(percent(1, 3)).toBe(33.3);
    expect(percent(4, 2)).toBe(200);
    expect(percent(1, 0)).toBe(0);
    expect(percent(-1, 2)).toBe(0);
  });
});
