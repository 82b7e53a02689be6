/** The coordinator of one process: who is there, and which shares are whose. */
import { describe, expect, it } from "vitest";
import { ManualClock } from "../model/manual-clock.js";
import { PartitionCoordinator } from "./coordinator.js";

const ownersOf = (coordinator: PartitionCoordinator, partitions = 8): string[] =>
  Object.values(coordinator.assign("g", partitions).owners);

describe("PartitionCoordinator", () => {
  it("assigns every partition among the members, balanced within one", () => {
    const coordinator = new PartitionCoordinator();
    for (const id of ["a", "b", "c"]) coordinator.join("g", id);
    const owners = ownersOf(coordinator);
    expect(owners).toHaveLength(8);
    const shares = ["a", "b", "c"].map((id) => owners.filter((owner) => owner === id).length);
    expect(shares.sort()).toEqual([2, 3, 3]);
  });

  it("assigns nothing in a group without members", () => {
    expect(new PartitionCoordinator().assign("g", 4)).toEqual({ group: "g", partitions: 4, owners: {} });
  });

  it("moves only what must move when members come and go", () => {
    const coordinator = new PartitionCoordinator();
    coordinator.join("g", "a");
    const alone = ownersOf(coordinator);
    coordinator.join("g", "b");
    const both = ownersOf(coordinator);
    expect(both.filter((owner, p) => owner !== alone[p])).toEqual(["b", "b", "b", "b"]);
    coordinator.leave("g", "a");
    const left = ownersOf(coordinator);
    expect(left).toEqual(new Array(8).fill("b"));
  });

  it("keeps groups apart", () => {
    const coordinator = new PartitionCoordinator();
    coordinator.join("g", "a");
    coordinator.join("h", "b");
    expect(new Set(ownersOf(coordinator))).toEqual(new Set(["a"]));
    expect(coordinator.members("h")).toEqual(["b"]);
    expect(coordinator.members("nobody")).toEqual([]);
  });

  it("sweeps away members that were silent for longer than the time to live, and no others", async () => {
    const clock = new ManualClock();
    const coordinator = new PartitionCoordinator({ ttlMs: 1_000, clock });
    coordinator.join("g", "silent");
    coordinator.join("g", "alive");
    await clock.advance(600);
    coordinator.heartbeat("g", "alive");
    await clock.advance(600);
    expect(coordinator.members("g")).toEqual(["alive", "silent"]);
    coordinator.sweep();
    expect(coordinator.members("g")).toEqual(["alive"]);
    expect(new Set(ownersOf(coordinator))).toEqual(new Set(["alive"]));
  });

  it("a jump of the wall clock sweeps nobody away", () => {
    const clock = new ManualClock();
    const coordinator = new PartitionCoordinator({ ttlMs: 1_000, clock });
    coordinator.join("g", "a");
    clock.jump(3_600_000);
    coordinator.sweep();
    expect(coordinator.members("g")).toEqual(["a"]);
  });

  it("refuses a time to live that is none, and options that it does not know", () => {
    for (const options of [{ ttlMs: -1 }, { ttlMs: Number.NaN }, { ttl: 5 }])
      expect(() => new PartitionCoordinator(options)).toThrow(
        expect.objectContaining({ code: "INVALID_OPTION" }),
      );
  });

  it("a heartbeat or leave of somebody unknown is harmless", () => {
    const coordinator = new PartitionCoordinator();
    coordinator.heartbeat("g", "ghost");
    coordinator.leave("g", "ghost");
    expect(coordinator.members("g")).toEqual([]);
  });

  it("joining again counts as a sign of life, not as a second member", async () => {
    const clock = new ManualClock();
    const coordinator = new PartitionCoordinator({ ttlMs: 1_000, clock });
    coordinator.join("g", "a", { host: "one" });
    await clock.advance(900);
    coordinator.join("g", "a");
    await clock.advance(900);
    coordinator.sweep();
    expect(coordinator.members("g")).toEqual(["a"]);
  });
});
