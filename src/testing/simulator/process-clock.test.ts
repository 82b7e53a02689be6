import { describe, expect, it } from "vitest";
import { ManualClock } from "../../model/manual-clock.js";
import { ProcessClock } from "./process-clock.js";

function setUp() {
  const world = new ManualClock({ startMs: 1_000, seed: 1 });
  const clock = new ProcessClock(world, { seed: 2, skewMs: 7 });
  const fired: string[] = [];
  const timer = (name: string, ms: number) => clock.setTimer(ms, () => fired.push(`${name}@${world.now()}`));
  return { world, clock, fired, timer };
}

describe("ProcessClock", () => {
  it("runs with the world, off by its skew", async () => {
    const { world, clock, fired, timer } = setUp();
    timer("a", 10);
    await world.advance(10);
    expect(fired).toEqual(["a@1010"]);
    expect([clock.now(), clock.steady(), clock.pending]).toEqual([1_017, 1_017, 0]);
  });

  it("holds timers back while frozen and runs them at the thaw, in order", async () => {
    const { world, clock, fired, timer } = setUp();
    timer("b", 20);
    timer("a", 10);
    timer("later", 500);
    const cancel = timer("cancelled", 15);
    clock.freeze();
    await world.advance(100);
    cancel();
    expect(fired).toEqual([]);
    clock.thaw();
    await world.advance(0);
    expect(fired).toEqual(["a@1100", "b@1100"]);
    await world.advance(400);
    expect(fired).toEqual(["a@1100", "b@1100", "later@1500"]);
  });

  it("runs nothing once killed, and takes no more timers", async () => {
    const { world, clock, fired, timer } = setUp();
    timer("a", 10);
    clock.kill();
    timer("b", 10);
    await world.advance(100);
    expect([fired, clock.pending, clock.dead, world.nextTimerMs()]).toEqual([[], 0, true, undefined]);
  });

  it("cancels", async () => {
    const { world, fired, timer } = setUp();
    timer("a", 10)();
    await world.advance(100);
    expect(fired).toEqual([]);
  });
});
