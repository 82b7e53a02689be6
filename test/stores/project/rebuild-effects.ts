/** What a handler does elsewhere, while its views are rebuilt and rolled back, on every store. */
import { expect, it } from "vitest";
import { rebuildView } from "../../../src/project/rebuild/rebuild.js";
import { rollbackView } from "../../../src/project/rebuild/view-rollback.js";
import { startChangelogProjector } from "../../../src/project/views/changelog.js";
import { startTransactionalProjector } from "../../../src/project/views/transactional.js";
import type { ProjectBench } from "./bench.js";

/** Of a projector that emits, and that counts in a view which another one keeps: what a rebuild must not do again. */
async function telling(bench: ProjectBench): Promise<{
  readonly own: string;
  readonly options: Parameters<typeof startTransactionalProjector>[1];
  publish(count: number): Promise<void>;
  /** How often each event was told, and how many were counted in the view of its own and in the one of others. */
  effects(): Promise<{ told: number[]; own: unknown; others: unknown }>;
  readonly stop: () => Promise<void>;
}> {
  const { bus } = bench;
  const [news, foreign] = [await bench.topic(), await bench.topic()];
  const topic = await bench.topic({ partitions: 2 });
  const [own, others] = [`own-${topic}`, `others-${topic}`];
  const changelog = await startChangelogProjector(bus, { topic: foreign, view: others });
  let published = 0;
  return {
    own,
    options: {
      ...{ topic, group: "telling", batchSize: 3 },
      handler: async (events, tx, ctx) => {
        for (const event of events) {
          await tx.view(own).inc("all", { n: 1 });
          await tx.view(others).inc("all", { n: 1 });
          await ctx.emitFor(event, news, event.payload);
        }
      },
    },
    async publish(count) {
      const items = Array.from({ length: count }, () => ({ payload: published++ }));
      await bench.publish(topic, items);
    },
    async effects() {
      const count = async (view: string): Promise<unknown> => (await bus.view(view).get("all"))?.n;
      await expect.poll(() => count(own)).toBe(published);
      const told = new Array<number>(published).fill(0);
      for (const { payload } of await bench.events(news))
        told[payload as number] = (told[payload as number] ?? 0) + 1;
      return { told, own: published, others: await count(others) };
    },
    stop: () => changelog.stop(),
  };
}

export function describeEffects(bench: ProjectBench): void {
  const once = (events: number) => ({ told: new Array(events).fill(1), own: events, others: events });

  it("P9: effects elsewhere happen once, also of events that come again on the way back and forth", async () => {
    const { bus } = bench;
    const { own, options, publish, effects, stop } = await telling(bench);
    const projector = await startTransactionalProjector(bus, options);
    await publish(4);
    expect(await effects()).toEqual(once(4));
    await (await rebuildView(bus, own)).result;
    await publish(2);
    await (await rebuildView(bus, own)).result;
    await publish(2);
    expect(await effects()).toEqual(once(8));
    await rollbackView(bus, own);
    await publish(1);
    expect(await effects()).toEqual(once(9));
    await rollbackView(bus, own);
    await publish(1);
    expect(await effects()).toEqual(once(10));
    await projector.stop();
    await stop();
  });

  it("P9: effects elsewhere happen once while two processes go from build to build and events flow", async () => {
    const { bus } = bench;
    const { own, options, publish, effects, stop } = await telling(bench);
    const projectors = [
      await startTransactionalProjector(bus, options),
      await startTransactionalProjector(await bench.secondBus(), options),
    ];
    await publish(1);
    await effects();
    await (await rebuildView(bus, own)).result;
    const moves = 4;
    for (let move = 0; move < moves; move++) {
      // Each process notices in its own time, and goes on with the other build until then.
      await Promise.all([publish(20), rollbackView(bus, own)]);
      for (let few = 0; few < 10; few++) await publish(2);
      await effects();
    }
    const published = 1 + 40 * moves;
    expect(await effects()).toEqual(once(published));
    for (const projector of projectors) await projector.stop();
    await stop();
  });

  it("P9: what a rebuild took in ahead of the projector has its effects when that comes by", async () => {
    const { bus } = bench;
    const { own, options, publish, effects, stop } = await telling(bench);
    const first = await startTransactionalProjector(bus, options);
    await publish(2);
    expect(await effects()).toEqual(once(2));
    await first.stop();
    await publish(5);
    await (await rebuildView(bus, own)).result;
    const again = await rebuildView(bus, own);
    await expect(again.result).rejects.toMatchObject({ code: "WRITE_CONFLICT" });
    await rollbackView(bus, own);
    await rollbackView(bus, own);
    const second = await startTransactionalProjector(bus, options);
    await publish(1);
    expect(await effects()).toEqual(once(8));
    await second.stop();
    await stop();
  });
}
