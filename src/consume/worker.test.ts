/** How a worker settles what its handler has ended with. */
import { describe, expect, it } from "vitest";
import { storedEvent } from "../../test/support/stored-events.js";
import { Allowance } from "./allowance.js";
import { Delivered, HandOut, type Source } from "./context.js";
import { Entry } from "./entry.js";
import { Worker, type WorkerOptions } from "./worker.js";

const HANDLING = {
  maxAttempts: 3,
  ackTimeoutMs: 1_000,
  retry: { baseMs: 1, maxMs: 1, factor: 1, jitter: 0 },
  deadLetter: true,
};

/** A partition that only notes what it is told. */
function partition(told: string[]): Source {
  const note = (what: string, deliveries: readonly Delivered[]): readonly Delivered[] => {
    told.push(`${what} ${deliveries.map(({ event }) => event.seq).join(" ")}`);
    return deliveries.filter((delivery) => delivery.over());
  };
  return {
    topic: "t",
    group: "g",
    partition: 0,
    epoch: 1,
    position: { topic: "t" },
    handled: (delivery) => note("handled", [delivery]).length > 0,
    handledAll: (deliveries) => note("handled", deliveries),
    failed: (delivery) => note("failed", [delivery]).length > 0,
    extend: () => true,
    settleBy: async () => undefined,
  };
}

function handOut(source: Source, ...seqs: number[]): Delivered[] {
  const shared = new HandOut(source, HANDLING.maxAttempts, 0);
  return seqs.map((seq) => new Delivered(shared, new Entry(storedEvent(seq), 1), storedEvent(seq)));
}

function worker(handler: () => unknown): Worker {
  const options: WorkerOptions = {
    work: { kind: "raw", handler },
    handling: HANDLING,
    allowance: new Allowance(100),
    emit: () => Promise.reject(new Error("nothing is published here")),
    manualAck: false,
    filter: undefined,
    accepts: undefined,
  };
  return new Worker(options, () => undefined);
}

describe("handlers that end in a row", () => {
  it("are settled together, those of each partition", async () => {
    const told: string[] = [];
    const working = worker(async () => undefined);
    const [a, b] = [partition(told), partition(told)];
    working.run(handOut(a, 1, 2));
    working.run(handOut(b, 7));
    working.run(handOut(a, 3));
    await working.leave();
    expect(told).toEqual(["handled 1 2", "handled 7", "handled 3"]);
  });

  it("do not wait for one that is not over", async () => {
    const told: string[] = [];
    let finish = (): void => undefined;
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let calls = 0;
    const working = worker(() => (++calls === 2 ? slow : undefined));
    const deliveries = handOut(partition(told), 1, 2, 3);
    working.run(deliveries);
    await Promise.resolve();
    expect(told).toEqual(["handled 1 3"]);
    // Those that are over are let go of.
    expect(deliveries[0]?.handOut.open).toEqual([deliveries[1]]);
    expect(working.inFlight).toBe(1);
    finish();
    await working.leave();
    expect(told).toEqual(["handled 1 3", "handled 2"]);
  });

  it("are settled, not given back, when the worker is told to give back what it holds", () => {
    const told: string[] = [];
    let calls = 0;
    const working = worker(() => (++calls === 2 ? new Promise(() => undefined) : undefined));
    working.run(handOut(partition(told), 1, 2));
    working.giveBack("it leaves");
    expect(told).toEqual(["handled 1", "failed 2"]);
    expect(working.inFlight).toBe(0);
  });
});
