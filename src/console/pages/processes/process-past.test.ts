import { describe, expect, it } from "vitest";
import { ProcessPast } from "./process-past.js";

const state = (key: string, cpu: number, status = "alive") => ({
  _key: key,
  _v: 1,
  _ts: 0,
  cpu_pct: cpu,
  mem_mb: 10,
  status,
});
const event = (key: string, cpu: number) => ({
  id: `${key}${cpu}`,
  topic: "process.state",
  partition: 0,
  seq: 1,
  ts: 0,
  key,
  payload: { cpu_pct: cpu, mem_mb: 10 },
});

describe("the past of processes", () => {
  it("begins with the newest events, oldest first, and goes on with what is seen", () => {
    const past = new ProcessPast();
    past.take([state("a", 3)], 1);
    past.seed([event("a", 2), event("a", 1)]);
    past.take([state("a", 4)], 2);
    expect(past.of("a", "cpu")).toEqual([1, 2, 3, 4]);
    expect(past.of("nobody", "cpu")).toEqual([]);
  });

  it("takes each look once, sums up the living, and forgets who is gone", () => {
    const past = new ProcessPast();
    past.take([state("a", 3), state("b", 4), state("c", 90, "stale")], 1);
    past.take([state("a", 3), state("b", 4)], 1);
    expect(past.total("cpu")).toEqual([7]);
    past.take([state("a", 5)], 2);
    expect(past.total("cpu")).toEqual([7, 5]);
    expect(past.of("b", "cpu")).toEqual([]);
  });
});
