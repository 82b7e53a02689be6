/** The pace of work that has to wait now and then. */
import { expect, it } from "vitest";
import { ManualClock } from "../model/manual-clock.js";
import { pacer } from "./pacer.js";

it("keeps the pace, and after a pause there is no rush to make up for it", async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const keepPace = pacer(clock, 100, stop.signal);
  let done = 0;
  const work = async (pieces: number): Promise<void> => {
    for (const through = done + pieces; done < through && !stop.signal.aborted; done += 10)
      await keepPace(10);
  };
  const steadily = work(100);
  await clock.advance(1_000);
  expect(done).toBe(100);
  await steadily;
  await clock.advance(60_000);
  const afterwards = work(10_000);
  await clock.advance(1_000);
  expect(done).toBeGreaterThanOrEqual(200);
  expect(done).toBeLessThanOrEqual(210);
  stop.abort();
  await afterwards;
});
