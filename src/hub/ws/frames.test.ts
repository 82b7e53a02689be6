import { describe, expect, it } from "vitest";
import { checkFrame } from "./frames.js";

const complaint = (frame: object): string | undefined => {
  const checked = checkFrame(frame);
  return "complaint" in checked ? checked.complaint : undefined;
};
const ack = { type: "ACK", topic: "t", group: "g" };

describe("what a client says that it takes", () => {
  it.each([[], ["events"], ["events", "what is to come"], Array(20).fill("x")])("may be %j", (...takes) => {
    expect(complaint({ type: "AUTH", token: "t", takes })).toBeUndefined();
    expect(complaint({ type: "PING", takes })).toBeUndefined();
  });

  it.each(["events", 7, null, {}, [7], [""], [["events"]], Array(21).fill("x")].map((takes) => ({ takes })))(
    "is complained of once, and clearly: %j",
    ({ takes }) => {
      const words = "takes is a list of texts, 20 at most";
      expect(complaint({ type: "AUTH", token: "t", takes })).toBe(words);
      expect(complaint({ type: "PING", takes })).toBe(words);
    },
  );
});

describe("numbers of leases", () => {
  const ranges = [
    [[1, 1]],
    [[1, 1_000]],
    [
      [7, 9],
      [3, 3],
    ],
  ];
  it.each(ranges.map((leases) => ({ leases })))("may be $leases", ({ leases }) => {
    expect(complaint({ ...ack, leases })).toBeUndefined();
  });

  const wrong = [
    ...[7, null, {}, [], [7], [[1]], [[1, 2, 3]], [[0, 1]], [[2, 1]], [[1, 1.5]], [["1", "2"]]],
    ...[
      [[1, 1_001]],
      [[1, 2 ** 53 - 1]],
      [
        [1, 600],
        [1, 600],
      ],
      Array(1_001).fill([1, 1]),
    ],
  ];
  it.each(wrong.map((leases) => ({ leases })))("are refused: $leases", ({ leases }) => {
    expect(complaint({ ...ack, leases })).toMatch(/^leases are pairs/);
  });

  it("stand instead of an id, not beside it", () => {
    expect(complaint({ ...ack, leases: [[1, 1]], id: "x" })).toMatch(/instead of an id/);
    expect(complaint({ ...ack, leases: [[1, 1]], ids: ["x"] })).toMatch(/instead of an id/);
    expect(complaint({ ...ack, type: "NACK", lease: 1 })).toBeUndefined();
    expect(complaint({ ...ack, type: "NACK", lease: 1, id: "x" })).toMatch(/instead of an id/);
    expect(complaint({ ...ack, type: "NACK", lease: 0 })).toMatch(/above 0/);
    expect(complaint({ type: "NACK", lease: 1 })).toBe("NACK needs topic and group");
    expect(complaint({ type: "ACK", leases: [[1, 1]] })).toBe("ACK needs topic and group");
  });
});

it.each(["PAUSE", "RESUME"])("%s of half a subscription is not one of all", (type) => {
  expect(checkFrame({ type })).toHaveProperty("frame");
  expect(checkFrame({ type, topic: "t.a", group: "g" })).toHaveProperty("frame");
  for (const half of [{ group: "g" }, { topic: "t.a" }, { topic: "t.a", group: "" }])
    expect(checkFrame({ type, ...half })).toHaveProperty("complaint");
});
