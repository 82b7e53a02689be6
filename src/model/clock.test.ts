import { validate, version } from "uuid";
import { describe, expect, it, vi } from "vitest";
import { pause, systemClock } from "./clock.js";
import { ManualClock } from "./manual-clock.js";

describe("the system clock", () => {
  it("tells the time, steadily", () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000);
    const readings = Array.from({ length: 1_000 }, () => systemClock.steady());
    expect(readings).toEqual(readings.toSorted((a, b) => a - b));
  });

  it("makes ids that grow and are UUIDv7", () => {
    const ids = Array.from({ length: 20_000 }, () => systemClock.newId());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual([...ids].sort());
    expect(ids.every((id) => validate(id) && version(id) === 7)).toBe(true);
  });

  it("runs a timer once, and none that was cancelled", async () => {
    const fired: string[] = [];
    systemClock.setTimer(0, () => fired.push("cancelled"))();
    await new Promise<void>((resolve) => {
      systemClock.setTimer(1, () => {
        fired.push("ran");
        resolve();
      });
    });
    expect(fired).toEqual(["ran"]);
  });

  it("does not fire at once what lies beyond a timer's reach", () => {
    const setTimer = vi.spyOn(globalThis, "setTimeout");
    systemClock.setTimer(Number.MAX_SAFE_INTEGER, () => undefined)();
    expect(setTimer.mock.calls[0]?.[1]).toBe(2_147_483_647);
  });

  it("fires after months, in time, and not if it is cancelled in between", () => {
    vi.useFakeTimers();
    const fired: string[] = [];
    const dayMs = 86_400_000;
    systemClock.setTimer(60 * dayMs, () => fired.push("sixty days"));
    const cancel = systemClock.setTimer(60 * dayMs, () => fired.push("never"));
    vi.advanceTimersByTime(30 * dayMs);
    cancel();
    vi.advanceTimersByTime(30 * dayMs - 1);
    expect(fired).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(fired).toEqual(["sixty days"]);
    vi.useRealTimers();
  });

  it("gives chances in [0, 1)", () => {
    for (let i = 0; i < 100; i++) {
      const chance = systemClock.random();
      expect(chance >= 0 && chance < 1).toBe(true);
    }
  });
});

describe("pause", () => {
  it("lasts as long as the clock says", async () => {
    const clock = new ManualClock({ startMs: 0 });
    let over = false;
    const waiting = pause(clock, 100).then(() => {
      over = true;
    });
    await clock.advance(99);
    expect(over).toBe(false);
    await clock.advance(1);
    await waiting;
    expect(over).toBe(true);
  });

  it("ends early when its signal aborts, and leaves neither timer nor listener", async () => {
    const clock = new ManualClock({ startMs: 0 });
    const control = new AbortController();
    const removed = vi.spyOn(control.signal, "removeEventListener");
    const waiting = pause(clock, 100, control.signal);
    control.abort();
    await waiting;
    expect(clock.nextTimerMs()).toBeUndefined();
    expect(removed).toHaveBeenCalledWith("abort", expect.any(Function));
    expect(clock.now()).toBe(0);
  });

  it("does not begin when its signal is aborted already", async () => {
    const clock = new ManualClock({ startMs: 0 });
    await pause(clock, 100, AbortSignal.abort());
    expect(clock.nextTimerMs()).toBeUndefined();
  });
});
