/** How many events are handed out before those who handle them have had their say. */
import { describe, expect, it } from "vitest";
import { useBench } from "../../test/support/bus-bench.js";
import { settled } from "../../test/support/eventually.js";

const bench = useBench();
const EVENTS = 1_000;
const events = Array.from({ length: EVENTS }, (_, n) => ({ payload: n, key: `k${n}` }));

describe("handing out", () => {
  it("goes on when quick handlers have ended", async () => {
    const bus = await bench().bus();
    let started = 0;
    let ended = 0;
    let most = 0;
    const handler = async (): Promise<void> => {
      most = Math.max(most, ++started - ended);
      void Promise.resolve().then(() => ended++);
    };
    await bus.subscribe("t.a", "g", handler, { maxInFlight: EVENTS });
    await bus.publishMany("t.a", events);
    await settled();
    expect(started).toBe(EVENTS);
    expect(most).toBeLessThan(EVENTS / 3);
  });

  it("does not wait for slow ones as long as there is room", async () => {
    const bus = await bench().bus();
    let started = 0;
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const handler = (): Promise<void> => {
      started++;
      return finished;
    };
    await bus.subscribe("t.a", "g", handler, { from: "earliest", maxInFlight: EVENTS - 1 });
    await bus.publishMany("t.a", events);
    await settled();
    expect(started).toBe(EVENTS - 1);
    finish();
    await settled();
    expect(started).toBe(EVENTS);
  });
});
