import { describe, expect, it } from "vitest";
import type { AckFrame } from "../hub/protocol.js";
import { AckRun } from "./ack-run.js";

const ack = (id: string, other: Partial<AckFrame> = {}): AckFrame => ({
  ...{ type: "ACK", topic: "t", group: "g", id, attempt: 1, epoch: 3 },
  ...other,
});

describe("a run of acks", () => {
  it("of one is an ordinary ack", () => {
    expect(new AckRun(ack("a")).frame()).toEqual(ack("a"));
  });

  it("has all ids, in order", () => {
    const run = new AckRun(ack("a"));
    expect([run.add(ack("b")), run.add(ack("c"))]).toEqual([true, true]);
    const shared = { type: "ACK", topic: "t", group: "g", attempt: 1, epoch: 3 };
    expect(run.frame()).toEqual({ ...shared, ids: ["a", "b", "c"] });
  });

  it.each([{ topic: "u" }, { group: "h" }, { attempt: 2 }, { epoch: 4 }])(
    "P6: takes none of another lease: %o",
    (other) => {
      const run = new AckRun(ack("a"));
      expect(run.add(ack("b", other))).toBe(false);
      expect(run.frame()).toEqual(ack("a"));
    },
  );

  it("ends where a hub would refuse it", () => {
    const run = new AckRun(ack("0"));
    for (let n = 1; n < 1_000; n++) expect(run.add(ack(String(n)))).toBe(true);
    expect(run.add(ack("1000"))).toBe(false);
  });
});
