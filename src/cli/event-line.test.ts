import { expect, it } from "vitest";
import { eventLine } from "./event-line.js";

const event = { id: "e", topic: "t.a", partition: 0, seq: 1, key: "k", payload: { n: 1 } };

it("an event is a line with its time, also if that is none that a calendar has", () => {
  expect(eventLine({ ...event, ts: 0 })).toBe('1970-01-01T00:00:00.000Z  t.a 0/1  k  {"n":1}');
  // Nanoseconds, as some publishers count them.
  expect(eventLine({ ...event, ts: 1.7e18 })).toBe('1700000000000000000 ms  t.a 0/1  k  {"n":1}');
});

it("in a terminal something is seen of each part, however narrow that is, and however long a name", () => {
  const long = { ...event, ts: 0, topic: "t".repeat(200), key: "k".repeat(200) };
  expect(eventLine(long, 80)).toBe(
    `1970-01-01T00:00:00.000Z  ${"t".repeat(19)}… 0/1  ${"k".repeat(15)}…  {"n":1}`,
  );
  expect(eventLine({ ...event, ts: 0 }, 40)).toBe('00:00:00.000Z  t.a 0/1  k  {"n":1}');
  expect(eventLine(long, 40)).toHaveLength(40);
});
