/** What the compiler knows of the fields of a view. The wrong ones fail in `tsc -b`: types are gone when they run. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failure } from "../../../test/support/failure.js";
import type { Bus } from "../../bus/bus.js";
import { createBus } from "../../bus/create-bus.js";
import { memoryStore } from "../../stores/memory/index.js";

interface Machine {
  readonly status: "up" | "stale";
  readonly host: string;
  readonly cpu?: number;
  readonly place: { readonly city: string };
}

describe("the fields of a view", () => {
  let bus: Bus;
  beforeEach(async () => {
    bus = await createBus({ store: memoryStore() });
    const fields = (status: string, cpu: number) => ({ status, cpu, host: "h", place: { city: "Ulm" } });
    await bus.store.documents.write("machines", [
      { op: "upsert", key: "a", version: 1, ts: 1, fields: fields("up", 5) },
      { op: "upsert", key: "b", version: 1, ts: 1, fields: fields("stale", 7) },
    ]);
  });
  afterEach(() => bus.close());

  it("may be asked for by name, by path and by key, with the values that they can have", async () => {
    const machines = bus.view<Machine>("machines");
    const conditions = [
      { status: "stale" },
      { cpu: { gt: 5, exists: true } },
      { status: { ne: "up" }, "place.city": "Ulm" },
      { _key: { prefix: "b" } },
    ] as const;
    for (const where of conditions) {
      const { items } = await machines.find({ where, order: { field: "place.city" } });
      expect(items.map(({ _key }) => _key)).toEqual(["b"]);
    }
  });

  it("are known to the compiler: another name, or a value that a field never has, does not fit", async () => {
    const machines = bus.view<Machine>("machines");
    // @ts-expect-error it is called status
    expect((await machines.find({ where: { state: "up" } })).items).toEqual([]);
    // @ts-expect-error it is never down
    expect((await machines.find({ where: { status: "down" } })).items).toEqual([]);
    // @ts-expect-error a host is a string
    expect((await machines.find({ where: { host: { in: [1] } } })).items).toEqual([]);
    // @ts-expect-error a host has no fields
    expect((await machines.find({ where: { "host.name": "h" } })).items).toEqual([]);
    // @ts-expect-error it is called cpu
    expect((await machines.find({ order: { field: "load" } })).items).toHaveLength(2);
    // @ts-expect-error it is called gt
    expect(await failure(machines.find({ where: { cpu: { over: 5 } } }))).toMatchObject({
      code: "INVALID_OPTION",
    });
  });

  it("may be any where nothing is said of them, and those of each kind where there are several", async () => {
    const { items } = await bus.view("machines").find({ where: { cpu: 5, "place.city": "Ulm" } });
    expect(items.map(({ _key }) => _key)).toEqual(["a"]);
    const kinds = bus.view<{ status: "up"; cpu: number } | { status: "off"; since: string }>("machines");
    expect((await kinds.find({ where: { status: "off", cpu: 1, since: "noon" } })).items).toEqual([]);
  });
});
