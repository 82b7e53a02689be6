import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBus } from "../../bus/create-bus.js";
import type { Registry } from "../../ports/registry.js";
import { memoryStore } from "../../stores/memory/index.js";
import type { Host } from "../host.js";
import { BuildTables } from "./kept-views.js";

describe("views that a projector keeps", () => {
  it("P9: stay its own while another partition notes them once more, in whatever order the store answers", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.constantFrom("", "__2"), async (s, suffix) => {
        const bus = await createBus({ store: memoryStore() });
        const inner = bus.store.registry;
        const registry = Object.assign(Object.create(inner) as Registry, {
          token: s.scheduleFunction((name: string) => inner.token(name)),
          putToken: s.scheduleFunction((...o: Parameters<Registry["putToken"]>) => inner.putToken(...o)),
        });
        const host = { store: { registry }, clock: bus.clock } as unknown as Host;
        const tables = new BuildTables(host, { topic: "t", group: "g" }, suffix);
        const owned: boolean[] = [];
        const partitions = [1, 2, 3].map(async () => {
          await tables.note(["v"]);
          // As a batch does that commits: it asks now, and again after whatever others do meanwhile.
          owned.push(tables.owns("v"));
          await s.schedule(Promise.resolve());
          owned.push(tables.owns("v"));
        });
        await s.waitFor(Promise.all(partitions));
        expect(owned).toEqual(Array.from({ length: 6 }, () => true));
        await bus.close();
      }),
      { numRuns: 100 },
    );
  });
});
