/** Publishes to a topic that is not known yet, and those that come while they get their answers. */
import { describe, expect, it } from "vitest";
import { useBench } from "../../test/support/bus-bench.js";
import { settled } from "../../test/support/eventually.js";
import type { PublishWaiter } from "../model/event-bus.js";

const bench = useBench();

describe("a publish that is submitted in answer to one that waited for its topic", () => {
  it("P13: is answered, too, and behind those that waited longer", async () => {
    const bus = await bench().bus();
    const told: string[] = [];
    const waiter = (name: string): PublishWaiter => ({
      done: ({ seq }) => told.push(`${name} at ${seq}`),
      fail: () => told.push(`${name} failed`),
    });
    bus.submit(
      "t.a",
      1,
      { partition: 9 },
      {
        ...waiter("first"),
        fail: () => {
          told.push("first failed");
          bus.submit("t.a", 3, {}, waiter("third"));
        },
      },
    );
    bus.submit("t.a", 2, {}, waiter("second"));
    await settled();
    expect(told).toEqual(["first failed", "second at 1", "third at 2"]);
  });

  it("P13: is answered, and makes no topic either, if it is for a partition that is not to be", async () => {
    const bus = await bench().bus();
    const told: string[] = [];
    const fail = (name: string) => (): void => void told.push(`${name} failed`);
    const done = ({ seq }: { seq: number }): void => void told.push(`at ${seq}`);
    bus.submit(
      "t.a",
      1,
      { partition: 9 },
      {
        done,
        fail: () => {
          told.push("first failed");
          bus.submit("t.a", 2, { partition: 1 }, { done, fail: fail("second") });
        },
      },
    );
    await settled();
    expect(told).toEqual(["first failed", "second failed"]);
    expect(await bus.topics()).toEqual([]);
    // Nobody is left to wait behind.
    bus.submit("t.a", 3, {}, { done, fail: fail("third") });
    await settled();
    expect(told.at(-1)).toBe("at 1");
  });
});
