import { describe, expect, it } from "vitest";
import { AckRun, type Leased } from "./ack-run.js";

const leased: Leased = { topic: "t", group: "g", attempt: 1, epoch: 3 };
const subscription = { type: "ACK", topic: "t", group: "g" };
const frameOf = (run: AckRun): unknown => JSON.parse(run.text());

describe("a run of acks by ids", () => {
  it("of one is an ordinary ack", () => {
    expect(frameOf(new AckRun(leased, "a"))).toEqual({ ...subscription, id: "a", attempt: 1, epoch: 3 });
  });

  it("has all ids, in order", () => {
    const run = new AckRun(leased, "a");
    expect([run.add(leased, "b"), run.add({ ...leased }, "c")]).toEqual([true, true]);
    expect(frameOf(run)).toEqual({ ...subscription, attempt: 1, epoch: 3, ids: ["a", "b", "c"] });
  });

  it.each([{ topic: "u" }, { group: "h" }, { attempt: 2 }, { epoch: 4 }])(
    "P6: takes none of another lease: %o",
    (other) => {
      const run = new AckRun(leased, "a");
      expect(run.add({ ...leased, ...other }, "b")).toBe(false);
      expect(frameOf(run)).toMatchObject({ id: "a" });
    },
  );

  it("takes none by number", () => {
    expect(new AckRun(leased, "a").add(leased, 1)).toBe(false);
  });

  it("ends where a hub would refuse it", () => {
    const run = new AckRun(leased, "0");
    for (let n = 1; n < 1_000; n++) expect(run.add(leased, String(n))).toBe(true);
    expect(run.add(leased, "1000")).toBe(false);
  });
});

describe("a run of acks by numbers", () => {
  it("has ranges of those that follow each other, in the order in which they were acked", () => {
    const run = new AckRun(leased, 5);
    for (const lease of [6, 7, 9, 3, 4, 2]) expect(run.add(leased, lease)).toBe(true);
    const leases = [
      [5, 7],
      [9, 9],
      [3, 4],
      [2, 2],
    ];
    expect(frameOf(run)).toEqual({ ...subscription, leases });
  });

  it("is of one subscription, whatever the attempt and epoch", () => {
    const run = new AckRun(leased, 1);
    expect(run.add({ ...leased, attempt: 2, epoch: 4 }, 2)).toBe(true);
    expect(run.add({ ...leased, topic: "u" }, 3)).toBe(false);
    expect(run.add({ ...leased, group: "h" }, 3)).toBe(false);
    expect(run.add(leased, "a")).toBe(false);
    expect(frameOf(run)).toEqual({ ...subscription, leases: [[1, 2]] });
  });

  it("ends where a hub would refuse it", () => {
    const run = new AckRun(leased, 1);
    for (let n = 2; n <= 1_000; n++) expect(run.add(leased, n)).toBe(true);
    expect(run.add(leased, 1_001)).toBe(false);
  });
});
