import { validate, version } from "uuid";
import { describe, expect, it } from "vitest";
import { ManualClock, seededRandom, settlePromises } from "./manual-clock.js";

describe("ManualClock", () => {
  it("stands still until it is told to move", async () => {
    const clock = new ManualClock({ startMs: 1_000 });
    await settlePromises();
    expect([clock.now(), clock.steady()]).toEqual([1_000, 1_000]);
    await clock.advance(250);
    expect([clock.now(), clock.steady()]).toEqual([1_250, 1_250]);
  });

  it("runs timers by time, those of one time in the order they were set", async () => {
    const clock = new ManualClock({ startMs: 0 });
    const fired: string[] = [];
    for (const [name, delay] of [
      ["c", 20],
      ["a", 10],
      ["d", 20],
      ["b", 10],
      ["now", -5],
      ["late", 31],
    ] as const) {
      clock.setTimer(delay, () => fired.push(`${name}@${clock.now()}`));
    }
    expect(clock.nextTimerMs()).toBe(0);
    await clock.advance(30);
    expect(fired).toEqual(["now@0", "a@10", "b@10", "c@20", "d@20"]);
    expect([clock.now(), clock.nextTimerMs()]).toEqual([30, 31]);
  });

  it("runs timers that timers and promises set on the way, if they fall due", async () => {
    const clock = new ManualClock({ startMs: 0 });
    const fired: number[] = [];
    const again = (): void => {
      fired.push(clock.now());
      void Promise.resolve().then(() => clock.setTimer(10, again));
    };
    clock.setTimer(10, again);
    await clock.advance(45);
    expect(fired).toEqual([10, 20, 30, 40]);
    expect(clock.nextTimerMs()).toBe(50);
  });

  it("runs no timer that was cancelled, also by an earlier one of the same time", async () => {
    const clock = new ManualClock({ startMs: 0 });
    const fired: string[] = [];
    let cancel = (): void => undefined;
    clock.setTimer(5, () => {
      fired.push("first");
      cancel();
    });
    cancel = clock.setTimer(5, () => fired.push("cancelled"));
    clock.setTimer(1, () => fired.push("never"))();
    await clock.advance(10);
    cancel();
    expect(fired).toEqual(["first"]);
  });

  it("runNext moves to the next timer and runs it; without one it stays", () => {
    const clock = new ManualClock({ startMs: 0 });
    clock.setTimer(70, () => undefined);
    expect([clock.runNext(), clock.now(), clock.runNext(), clock.now()]).toEqual([true, 70, false, 70]);
  });

  it("a jump moves the wall clock, forth or back, and no timer", async () => {
    const clock = new ManualClock({ startMs: 1_000 });
    const fired: number[] = [];
    clock.setTimer(100, () => fired.push(clock.now()));
    clock.jump(-600);
    expect([clock.now(), clock.steady()]).toEqual([400, 1_000]);
    await clock.advance(99);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual([500]);
    clock.jump(10_000);
    expect([clock.now(), clock.steady()]).toEqual([10_500, 1_100]);
  });

  it("the same seed gives the same chances and ids; another seed, others", () => {
    const run = (seed: number): unknown[] => {
      const clock = new ManualClock({ startMs: 5, seed });
      return [clock.random(), clock.newId(), clock.newId(), clock.random()];
    };
    expect(run(7)).toEqual(run(7));
    expect(run(7)).not.toEqual(run(8));
  });

  it("ids are UUIDv7 and grow, whatever the clock does", async () => {
    const clock = new ManualClock({ startMs: 1_700_000_000_000, seed: 3 });
    const ids: string[] = [];
    for (let i = 0; i < 300; i++) {
      ids.push(clock.newId());
      if (i % 50 === 0) clock.jump(-1_000);
      if (i % 70 === 0) await clock.advance(3);
    }
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(300);
    expect(ids.every((id) => validate(id) && version(id) === 7)).toBe(true);
  });
});

describe("seededRandom", () => {
  it("is the same everywhere, in [0, 1), and spread evenly", () => {
    const random = seededRandom(42);
    expect([random(), random(), random()]).toEqual([
      0.6011037519201636, 0.44829055899754167, 0.8524657934904099,
    ]);
    const tenths = new Array<number>(10).fill(0);
    for (let i = 0; i < 20_000; i++) {
      const tenth = Math.floor(random() * 10);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    for (const count of tenths) expect(Math.abs(count - 2_000)).toBeLessThan(250);
  });
});
