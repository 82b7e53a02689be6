import { describe, expect, it } from "vitest";
import { oneLine } from "../ui/format.js";
import { lightEvent } from "./light-event.js";

const event = (payload: unknown): string =>
  JSON.stringify({ id: "i", topic: "t", partition: 0, seq: 1, ts: 2, key: "k", payload });

describe("an event in a list that grows", () => {
  it("is kept as it is", () => {
    expect(lightEvent(event({ order: 7 }))).toEqual(JSON.parse(event({ order: 7 })));
  });

  it("looks the same, and is small, if its payload is large", () => {
    for (const payload of [{ text: "x".repeat(1_000_000) }, "y\u202e".repeat(500_000)]) {
      const light = lightEvent(event(payload));
      expect(light).toMatchObject({ id: "i", key: "k", seq: 1 });
      expect(oneLine(light.payload)).toBe(oneLine(payload));
      expect(JSON.stringify(light).length).toBeLessThan(2_000);
    }
  });
});
