/** Partitions that a bus gives back although it does not serve them any more, and the cursors they leave with. */
import { describe, expect, it } from "vitest";
import { BusError } from "../../../src/model/errors.js";
import type { Handle } from "../../../src/model/task.js";
import type { GroupState } from "../../../src/ports/groups.js";
import type { Host } from "../../../src/project/host.js";
import { startTransactionalProjector } from "../../../src/project/views/transactional.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import { gate } from "../../support/eventually.js";
import type { ProjectBench } from "./bench.js";

const GROUP = "giving-back";

export function describeGivingBack(bench: ProjectBench): void {
  describe("partitions that are given back", () => {
    it("P8: leave with the failures that were noted since the look which says whose they should be", async () => {
      const answered = gate();
      let looks = 0;
      let failures = 0;
      const store = interceptStore(bench.store, {
        around: async (call, proceed) => {
          if (call.name === "documents.transact" && ++failures <= 2)
            throw new BusError("INTERNAL", "its outcome is not known");
          const result = await proceed();
          const isLook = call.name === "groups.state" && (result as GroupState | null)?.members.length === 2;
          if (isLook && ++looks === 1) await answered.passed;
          return result;
        },
      });
      const owner = await bench.busOn(store);
      const topic = await bench.topic({ partitions: 2 });
      const failuresIn = async (partition: number): Promise<number | undefined> => {
        const state = await bench.store.groups.state({ topic, group: GROUP }, { nowMs: Date.now() });
        return state?.leases[partition]?.cursor.attempts[0]?.failures;
      };
      const tries: [number, number] = [0, 0];
      const start = (host: Host): Promise<Handle> =>
        startTransactionalProjector(host, {
          topic,
          group: GROUP,
          maxAttempts: 2,
          handler: async ([event]) => {
            const { partition } = event as { partition: 0 | 1 };
            if (++tries[partition] !== 2) throw new Error("no use");
            await expect.poll(() => failuresIn(partition)).toBe(1);
          },
        });
      const projector = await start(owner);
      const other = await start(await bench.secondBus());
      await expect.poll(() => looks).toBeGreaterThan(0);
      await bench.publish(
        topic,
        [0, 1].map((partition) => ({ payload: "x", partition })),
      );
      await expect.poll(() => owner.owned(topic, GROUP)).toEqual([]);
      answered.open();
      await bench.drained(topic, GROUP);
      // One that failed, one whose outcome is not known, and the second that failed.
      expect(tries).toEqual([3, 3]);
      await projector.stop();
      await other.stop();
    });
  });
}
