/** What becomes of a publish whose outcome is unknown, and when it is given up. */
import { describe, expect, it } from "vitest";
import { settled } from "../../test/support/eventually.js";
import { failure } from "../../test/support/failure.js";
import { LOST, PublishingBench, REFUSED } from "../../test/support/publishing-bench.js";
import { draft } from "../../test/support/stored-events.js";
import type { BusError } from "../model/errors.js";

describe("an unknown outcome", () => {
  it("P1, P3: is tried again under the same id, and the event is in the log once", async () => {
    const bench = new PublishingBench({ faults: [LOST] });
    const publishing = bench.publish();
    await bench.clock.advance(200);
    const { event, duplicate } = await publishing;
    expect(bench.appends).toEqual([[event.id], [event.id]]);
    expect(await bench.logged()).toEqual([event.id]);
    // It was this very publish that added it.
    expect(duplicate).toBe(false);
  });

  it("P3: a made id is fresh for the first try only, so that the second looks it up", async () => {
    const bench = new PublishingBench({ faults: [LOST] });
    const publishing = bench.publish();
    await bench.clock.advance(200);
    await publishing;
    expect(bench.drafts.map(([first]) => first?.freshId)).toEqual([true, false]);
  });

  it("P13: gives back as many bytes as it took, although its size turned out smaller between two tries", async () => {
    const bench = new PublishingBench({ faults: [LOST], limits: { maxQueuedBytes: 1_000 } });
    const made = draft("own", new Array(100).fill(1), { freshId: true });
    const publishing = bench.publishDraft(made);
    const before = made.body.size;
    expect(made.body.text.length).toBeLessThan(before);
    await bench.clock.advance(200);
    await publishing;
    bench.publisher.admit(1, 1_000);
  });

  it("P2: those who wait for growth hear of what an unheard try had added", async () => {
    const bench = new PublishingBench({ faults: [LOST] });
    const publishing = bench.publish();
    await bench.clock.advance(200);
    await publishing;
    expect(bench.announced).toEqual([1]);
  });

  it("a torn append answers those that are in the log and goes on with the rest", async () => {
    const bench = new PublishingBench({ faults: [{ type: "torn", share: 0.5 }] });
    const answered: string[] = [];
    const all = ["a", "b", "c", "d"].map((id) =>
      bench.publish(id).then(({ event }) => {
        answered.push(event.id);
      }),
    );
    await settled();
    expect(answered).toEqual(["a", "b"]);
    await bench.clock.advance(200);
    await Promise.all(all);
    expect(bench.appends).toEqual([
      ["a", "b", "c", "d"],
      ["c", "d"],
    ]);
    expect(await bench.logged()).toEqual(["a", "b", "c", "d"]);
  });

  it("P1: once unknown, always unknown: a later refusal does not make it a failure without effect", async () => {
    const bench = new PublishingBench({ faults: [LOST, ...new Array(20).fill(REFUSED)] });
    const publishing = failure(bench.publish("a"));
    await bench.clock.advance(2_000);
    expect(await publishing).toMatchObject({
      code: "OUTCOME_UNKNOWN",
      retryable: true,
      details: { id: "a" },
    });
    expect(await bench.logged()).toEqual(["a"]);
  });
});

describe("giving up", () => {
  it("a store that stays away fails the publish after the given time, with the id for a retry", async () => {
    const bench = new PublishingBench({ faults: new Array(50).fill(REFUSED), giveUpAfterMs: 1_000 });
    let error: BusError | undefined;
    const publishing = failure(bench.publish("a")).then((e) => {
      error = e;
    });
    await bench.clock.advance(950);
    expect(error).toBeUndefined();
    await bench.clock.advance(100);
    await publishing;
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true, details: { id: "a" } });
    expect(await bench.logged()).toEqual([]);
    expect(bench.publisher.queued).toBe(0);
  });

  it("a jump of the wall clock neither shortens nor lengthens it", async () => {
    const bench = new PublishingBench({ faults: [REFUSED, REFUSED] });
    const publishing = bench.publish("a");
    await settled();
    bench.clock.jump(3_600_000);
    await bench.clock.advance(300);
    expect((await publishing).event.seq).toBe(1);
  });

  it("counts from each publish: what queued up behind a dead store does not wait for its turn to begin", async () => {
    const bench = new PublishingBench({
      faults: new Array(50).fill(REFUSED),
      giveUpAfterMs: 1_000,
      limits: { maxBatchEvents: 1 },
    });
    const all = Promise.all(["a", "b", "c"].map((id) => failure(bench.publish(id))));
    await bench.clock.advance(1_200);
    expect((await all).map(({ code }) => code)).toEqual(new Array(3).fill("STORE_UNAVAILABLE"));
  });

  it("a publish that came later keeps its own time", async () => {
    const bench = new PublishingBench({ faults: new Array(13).fill(REFUSED), giveUpAfterMs: 1_000 });
    const letGo = bench.hold();
    const early = failure(bench.publish("early"));
    await settled();
    letGo();
    await bench.clock.advance(900);
    const late = bench.publish("late");
    await bench.clock.advance(900);
    expect((await early).code).toBe("STORE_UNAVAILABLE");
    expect((await late).event.id).toBe("late");
  });

  it("what no retry can mend fails at once", async () => {
    const bench = new PublishingBench({ faults: [{ type: "error-before", code: "STORE_DAMAGED" }] });
    expect(await failure(bench.publish("a"))).toMatchObject({ code: "STORE_DAMAGED", retryable: false });
    expect(bench.appends).toHaveLength(1);
  });

  it("a bus that closes does not wait between tries", async () => {
    const bench = new PublishingBench({ faults: new Array(50).fill(REFUSED), giveUpAfterMs: 3_600_000 });
    const publishing = failure(bench.publish("a"));
    await settled();
    bench.closing.abort();
    expect((await publishing).code).toBe("STORE_UNAVAILABLE");
    await bench.publisher.drained();
  });
});
