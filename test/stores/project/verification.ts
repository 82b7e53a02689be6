/** verifyGroup on every store: every seq is accounted for, or the hole is named. */
import { describe, expect, it } from "vitest";
import { Fatal } from "../../../src/model/errors.js";
import { verifyGroup } from "../../../src/project/history/verify.js";
import { interceptStore } from "../../../src/testing/store-calls.js";
import type { ProjectBench } from "./bench.js";

export function describeVerification(bench: ProjectBench): void {
  const ten = (topic: string): Promise<unknown> =>
    bench.publish(
      topic,
      Array.from({ length: 10 }, (_, i) => ({ key: `k${i}`, payload: { n: i + 1 } })),
    );

  describe("verifyGroup", () => {
    it("tells acked, filtered and dead-lettered, removed, in flight and pending apart, and each seq is one of them", async () => {
      const topic = await bench.topic();
      await ten(topic);
      let held: () => void = () => undefined;
      const gate = new Promise<void>((resolve) => {
        held = resolve;
      });
      const running = new Set<number>();
      const stop = await bench.bus.subscribe<{ n: number }>(
        topic,
        "g",
        async (event) => {
          if (event.payload.n === 3) throw new Fatal("bad");
          running.add(event.payload.n);
          if (event.payload.n === 6) await gate;
        },
        { from: "earliest", filter: (event) => (event.payload as { n: number }).n !== 5 },
      );
      await bench.store.log.remove(topic, 0, [2]);
      await expect
        .poll(async () => (await verifyGroup(bench.bus, topic, "g")).partitions, { timeout: 30_000 })
        .toEqual([
          {
            partition: 0,
            floor: 5,
            head: 10,
            settled: 7,
            deadLettered: 1,
            removed: 1,
            inFlight: 1,
            pending: 0,
            holes: [],
          },
        ]);
      held();
      await bench.drained(topic, "g");
      await stop();
      await ten(topic);
      expect(await verifyGroup(bench.bus, topic, "g")).toMatchObject({
        ok: true,
        partitions: [
          { floor: 10, head: 20, settled: 8, deadLettered: 1, removed: 1, inFlight: 0, pending: 10 },
        ],
      });
    });

    it("names the holes: no cursor, settled beyond the log, ranges out of order", async () => {
      const topic = await bench.topic({ partitions: 3 });
      const { groups } = bench.store;
      for (let partition = 0; partition < 3; partition++) {
        await bench.publish(topic, [{ payload: 1, partition }]);
      }
      const cursor = { floor: 0, settled: [], attempts: [], mark: 0, unclean: 0 };
      await groups.start({ topic, group: "g" }, [0, 0]);
      await groups.move({ topic, group: "g", partition: 0 }, { ...cursor, floor: 4, mark: 4 });
      await groups.move(
        { topic, group: "g", partition: 1 },
        {
          ...cursor,
          settled: [
            [5, 6],
            [3, 4],
          ],
        },
      );
      const { ok, partitions } = await verifyGroup(bench.bus, topic, "g");
      expect(ok).toBe(false);
      expect(partitions.map(({ holes }) => holes)).toMatchObject([
        [{ from: 2, to: 4, why: expect.stringContaining("beyond the log") }],
        [
          { from: 5, to: 6, why: expect.stringContaining("beyond the log") },
          { from: 3, to: 4, why: expect.stringContaining("out of order") },
        ],
        [{ from: 1, to: 1, why: expect.stringContaining("no cursor") }],
      ]);
    });

    it("reads no further once it is told to stop", async () => {
      const topic = await bench.topic();
      await bench.publish(
        topic,
        Array.from({ length: 2_000 }, (_, payload) => ({ payload })),
      );
      await bench.store.groups.start({ topic, group: "g" }, [0]);
      const over = new AbortController();
      let reads = 0;
      const store = interceptStore(bench.store, {
        around: (call, proceed) => {
          if (call.name === "log.read") {
            reads++;
            over.abort();
          }
          return proceed();
        },
      });
      const verifying = verifyGroup(bench.hostOn(store), topic, "g", { signal: over.signal });
      await expect(verifying).rejects.toMatchObject({ code: "ABORTED" });
      expect(reads).toBe(1);
    });

    it("knows no group that never was", async () => {
      const topic = await bench.topic();
      await expect(verifyGroup(bench.bus, topic, "nobody")).rejects.toMatchObject({ code: "NOT_FOUND" });
    });
  });
}
