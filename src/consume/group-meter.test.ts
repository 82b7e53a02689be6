import { describe, expect, it } from "vitest";
import { ManualClock } from "../model/manual-clock.js";
import { type Meter, Meters } from "../model/meter.js";
import { type Delivered, HandOut, type Source } from "./context.js";
import { GroupMeter } from "./group-meter.js";

const ref = { topic: "t", group: "g", partition: 0 };

function fixture() {
  const meters = new Meters();
  const told: unknown[][] = [];
  const note =
    (name: string) =>
    (...values: unknown[]): void =>
      void told.push([name, ...values]);
  const clock = new ManualClock();
  const listen = (): void => {
    const names = ["acked", "nacked", "delivered", "handled", "polled"];
    meters.add(Object.fromEntries(names.map((name) => [name, note(name)])) as unknown as Meter);
  };
  const handedOut = (count: number): Delivered[] => {
    const handOut = new HandOut({} as Source, 5, clock.steady());
    return Array.from({ length: count }, () => ({ handOut }) as Delivered);
  };
  return { meter: new GroupMeter(meters, clock, ref), clock, told, listen, handedOut };
}

describe("what the meters are told of a group", () => {
  it("is how many were acked, and how long those took that were handed out together", async () => {
    const { meter, clock, told, listen, handedOut } = fixture();
    listen();
    const first = handedOut(3);
    await clock.advance(10);
    const second = handedOut(2);
    await clock.advance(5);
    meter.ackedAll([...first.slice(0, 2), ...second, ...first.slice(2)]);
    expect(told).toEqual([
      ["acked", "t", "g", 5],
      ["handled", "t", "g", 15, 2],
      ["handled", "t", "g", 5, 2],
      ["handled", "t", "g", 15, 1],
    ]);
  });

  it("is one of each for an event that was settled alone", async () => {
    const { meter, clock, told, listen, handedOut } = fixture();
    listen();
    const [one, other] = handedOut(2) as [Delivered, Delivered];
    await clock.advance(7);
    meter.ackedAll([one]);
    meter.nacked(other);
    expect(told).toEqual([
      ["acked", "t", "g", 1],
      ["handled", "t", "g", 7, 1],
      ["nacked", "t", "g"],
      ["handled", "t", "g", 7, 1],
    ]);
  });

  it("is nothing of nothing", () => {
    const { meter, told, listen } = fixture();
    listen();
    meter.ackedAll([]);
    meter.delivered(0);
    expect(told).toEqual([]);
  });
});
