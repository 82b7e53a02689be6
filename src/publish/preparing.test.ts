import { describe, expect, it } from "vitest";
import { settled } from "../../test/support/eventually.js";
import { PublishingBench } from "../../test/support/publishing-bench.js";

describe("preparing", () => {
  it("what waits is prepared while an append is under way, and no more than the next one takes", async () => {
    const bench = new PublishingBench({ limits: { maxBatchEvents: 2 } });
    const letGo = bench.hold();
    const first = bench.publish("a");
    await settled();
    const rest = ["b", "c", "d"].map((id) => bench.publish(id));
    expect(bench.prepared).toEqual(["b", "c"]);
    expect(bench.behind).toEqual([undefined, "b"]);
    letGo();
    await Promise.all([first, ...rest]);
    expect(await bench.logged()).toEqual(["a", "b", "c", "d"]);
  });

  it("what waited before an append was under way is prepared as well, once that was sent, and as many as the next one takes", async () => {
    const bench = new PublishingBench({ limits: { maxBatchEvents: 3 } });
    const letGo = bench.hold();
    const all = ["a", "b", "c", "d", "e", "f", "g", "h"].map((id) => bench.publish(id));
    await expect.poll(() => bench.prepared).toEqual(["d", "e", "f"]);
    expect(bench.behind).toEqual([undefined, "d", "e"]);
    letGo();
    await Promise.all(all);
    expect(bench.appends).toEqual([
      ["a", "b", "c"],
      ["d", "e", "f"],
      ["g", "h"],
    ]);
    expect(await bench.logged()).toEqual(["a", "b", "c", "d", "e", "f", "g", "h"]);
  });

  it("P1: what cannot be prepared is asked for all the same: its append decides", async () => {
    const bench = new PublishingBench({ unprepared: new Set(["b"]) });
    const letGo = bench.hold();
    const all = ["a", "b", "c"].map(async (id, n) => {
      if (n > 0) await settled();
      return bench.publish(id);
    });
    await settled();
    expect(bench.prepared).toContain("b");
    letGo();
    await Promise.all(all);
    expect(await bench.logged()).toEqual(["a", "b", "c"]);
  });
});
