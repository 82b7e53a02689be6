/** Two commits of a transactional projector under way at once, and whatever may happen to them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BusError } from "../../../src/model/errors.js";
import { nextTurn } from "../../../src/model/next-turn.js";
import type { Handle } from "../../../src/model/task.js";
import type { CursorWrite } from "../../../src/ports/groups.js";
import { rebuildView } from "../../../src/project/rebuild/rebuild.js";
import { rollbackView } from "../../../src/project/rebuild/view-rollback.js";
import {
  startTransactionalProjector,
  type TransactionalStats,
} from "../../../src/project/views/transactional.js";
import { interceptStore, type Proceed } from "../../../src/testing/store-calls.js";
import type { ProjectBench } from "./bench.js";

/** What becomes of one call of `transact`; `n` counts them from 1. */
type Fate = (n: number, proceed: Proceed, cursor: CursorWrite) => Promise<unknown>;

const lost = (): BusError => new BusError("OUTCOME_UNKNOWN", "the answer was lost");

/** A promise that others keep. */
function promised(): { readonly kept: Promise<void>; keep(): void } {
  let keep = (): void => undefined;
  const kept = new Promise<void>((resolve) => {
    keep = resolve;
  });
  return { kept, keep: () => keep() };
}

interface Running {
  readonly topic: string;
  readonly view: string;
  readonly projector: Handle<TransactionalStats>;
  /** Under which epochs its cursor was sent. */
  readonly epochs: ReadonlySet<number>;
  /** How often each event was counted, and what all of them amount to. */
  counted(): Promise<{ readonly events: number; readonly twice: number; readonly sum: number }>;
}

const GROUP = "under-way";
const EVENTS = 24;

/**
 * Counts each event under its own key, so that batches touch different documents and need not wait for each other, and
 * adds up everything under one key.
 */
async function running(bench: ProjectBench, fate: Fate): Promise<Running> {
  const topic = await bench.topic({ partitions: 1 });
  const view = `counts-${topic}`;
  const epochs = new Set<number>();
  let calls = 0;
  const store = interceptStore(bench.store, {
    around: (call, proceed) => {
      if (call.name !== "documents.transact") return proceed();
      const cursor = call.args[0].cursor as CursorWrite;
      epochs.add(cursor.epoch);
      return fate(++calls, proceed, cursor);
    },
  });
  const items = Array.from({ length: EVENTS }, (_, i) => ({ payload: i, key: `e${i}` }));
  await bench.publish(topic, items);
  const projector = await startTransactionalProjector<number>(bench.hostOn(store), {
    topic,
    group: GROUP,
    batchSize: 4,
    maxAttempts: 1_000,
    handler: async (events, tx) => {
      for (const { key, payload } of events) {
        await tx.view(view).inc(key as string, { n: 1 });
        await tx.view(view).inc("sum", { n: payload });
      }
    },
  });
  const counted = async (): Promise<{ events: number; twice: number; sum: number }> => {
    const { items: documents } = await bench.bus.view<{ n: number }>(view).find({ limit: 100 });
    const each = documents.filter(({ _key }) => _key !== "sum");
    return {
      events: each.length,
      twice: each.filter(({ n }) => n !== 1).length,
      sum: documents.find(({ _key }) => _key === "sum")?.n ?? 0,
    };
  };
  return { topic, view, projector, epochs, counted };
}

const ONCE = { events: EVENTS, twice: 0, sum: (EVENTS * (EVENTS - 1)) / 2 };

async function expectOnce(bench: ProjectBench, { topic, projector, counted }: Running): Promise<void> {
  await bench.drained(topic, GROUP);
  await projector.stop();
  expect(await counted()).toEqual(ONCE);
}

export function describeCommitsUnderWay(bench: ProjectBench): void {
  describe("commits under way", () => {
    const inOrder = (): boolean => bench.store.capabilities.transactsInOrder === true;

    it("P9: the next commit is sent before the one before it is answered where units are taken in order", async () => {
      const second = promised();
      const floors: (number | undefined)[] = [];
      const run = await running(bench, async (n, proceed, cursor) => {
        floors.push(cursor.expectedFloor);
        if (n === 2) second.keep();
        const answer = await proceed();
        if (n === 1 && inOrder()) await second.kept;
        return answer;
      });
      await expectOnce(bench, run);
      expect(floors).toEqual([0, 4, 8, 12, 16, 20]);
      expect(run.projector.stats()).toMatchObject({ conflicts: 0, commits: 6 });
    });

    it("P4, P9: a commit that meets a conflict takes the one behind it along; both are made anew, in order", async () => {
      const second = promised();
      const taken: number[] = [];
      const run = await running(bench, async (n, proceed, cursor) => {
        if (n === 2) second.keep();
        if (n === 1) {
          if (inOrder()) await second.kept;
          throw new BusError("WRITE_CONFLICT", "another partition was first");
        }
        const answer = await proceed();
        taken.push(cursor.cursor.floor);
        return answer;
      });
      await expectOnce(bench, run);
      expect(taken).toEqual([4, 8, 12, 16, 20, 24]);
      expect(run.epochs.size).toBe(1);
    });

    it("P8, P9: a commit that is refused for good takes the one behind it along, and each event counts once", async () => {
      const second = promised();
      const run = await running(bench, async (n, proceed) => {
        if (n === 2) second.keep();
        if (n !== 1) return proceed();
        if (inOrder()) await second.kept;
        throw new BusError("INVALID_PAYLOAD", "no such document");
      });
      await expectOnce(bench, run);
    });

    const outcomes = [
      { first: "happened", second: "happened" },
      { first: "happened", second: "did not happen" },
      { first: "did not happen", second: "did not happen" },
    ] as const;
    for (const { first, second } of outcomes) {
      it(`P9: the writer is gone with both answers, the first ${first}, the second ${second}`, async () => {
        const sent = promised();
        const run = await running(bench, async (n, proceed) => {
          if (n > 2) return proceed();
          if (n === 2) sent.keep();
          if ((n === 1 ? first : second) === "happened") await proceed();
          if (n === 1 && inOrder()) await sent.kept;
          throw lost();
        });
        await expectOnce(bench, run);
        expect(run.epochs.size).toBe(1);
      });
    }

    it("P9: the second of two is answered, the answer to the first is lost", async () => {
      const answered = promised();
      const run = await running(bench, async (n, proceed) => {
        const answer = await proceed();
        if (n === 2) answered.keep();
        if (n !== 1) return answer;
        if (inOrder()) await answered.kept;
        throw lost();
      });
      await expectOnce(bench, run);
      expect(run.epochs.size).toBe(1);
    });

    it("P7, P9: the partition gets another owner while two are under way: neither has an effect", async () => {
      const second = promised();
      const refused: unknown[] = [];
      const run = await running(bench, async (n, proceed, { ref, cursor }) => {
        if (n === 2) second.keep();
        if (n === 1) {
          if (inOrder()) await second.kept;
          await bench.store.groups.move(ref, { ...cursor, floor: 0, settled: [], attempts: [] });
        }
        if (n === 2) await expect.poll(() => refused.length).toBe(1);
        return proceed().catch((error: unknown) => {
          refused.push(error);
          throw error;
        });
      });
      await expectOnce(bench, run);
      expect(refused[0]).toMatchObject({ code: "LEASE_LOST" });
    });

    it("P9: the views are rebuilt and switched between two commits, and go back", async () => {
      const hold = promised();
      let held = 0;
      const run = await running(bench, async (n, proceed) => {
        if (n === 3 || (n === 4 && inOrder())) {
          held++;
          await hold.kept;
        }
        return proceed();
      });
      await expect.poll(() => held).toBe(inOrder() ? 2 : 1);
      const rebuild = await rebuildView(bench.bus, run.view);
      expect(await rebuild.result).toMatchObject({ switched: true });
      expect(await run.counted()).toEqual(ONCE);
      hold.keep();
      await bench.drained(run.topic, GROUP);
      await rollbackView(bench.bus, run.view);
      await expect.poll(run.counted).toEqual(ONCE);
      await run.projector.stop();
    });

    it("P9: whatever becomes of each commit and its answer, each event counts once", async () => {
      const fate = fc.constantFrom("fine", "late", "lost before", "lost after", "conflict", "refused");
      await fc.assert(
        fc.asyncProperty(fc.array(fate, { maxLength: 14 }), async (fates) => {
          const run = await running(bench, async (n, proceed) => {
            switch (fates[n - 1]) {
              case "late": {
                const answer = await proceed();
                await nextTurn();
                return answer;
              }
              case "lost before":
                throw lost();
              case "lost after":
                await proceed();
                throw lost();
              case "conflict":
                throw new BusError("WRITE_CONFLICT", "another partition was first");
              case "refused":
                throw new BusError("INVALID_PAYLOAD", "no such document");
              default:
                return proceed();
            }
          });
          await expectOnce(bench, run);
        }),
        { numRuns: 6 },
      );
    });
  });
}
