/** What a rebuild leaves alone, and when it compares but does not switch. */
import { expect, it } from "vitest";
import { Fatal } from "../../../src/model/errors.js";
import { summarizeDeadLetters } from "../../../src/project/letters/dead-letters.js";
import { rebuildView } from "../../../src/project/rebuild/rebuild.js";
import { startChangelogProjector } from "../../../src/project/views/changelog.js";
import { viewAt } from "../../../src/project/views/past-view.js";
import { startTransactionalProjector } from "../../../src/project/views/transactional.js";
import type { ProjectBench } from "./bench.js";

export function describeRestraint(bench: ProjectBench): void {
  it("a rebuild writes to no view that another projector keeps, and emits nothing", async () => {
    const { bus } = bench;
    const [topic, news] = [await bench.topic(), await bench.topic()];
    const [own, others] = [`own-${topic}`, `others-${news}`];
    const changelog = await startChangelogProjector(bus, { topic: news, view: others });
    const projector = await startTransactionalProjector(bus, {
      topic,
      group: "both",
      handler: async (events, tx, ctx) => {
        for (const event of events) {
          await tx.view(own).inc("all", { n: 1 });
          await tx.view(others).inc("all", { n: 1 });
          await ctx.emitFor(event, news, { from: event.seq }, { key: `e${event.seq}` });
        }
      },
    });
    await bench.publish(topic, [{ payload: 1 }, { payload: 2 }]);
    await bench.drained(topic, "both");
    await bench.drained(news, `changelog:${others}`);
    const rebuild = await rebuildView(bus, own);
    expect(await rebuild.result).toMatchObject({ switched: true, same: 1, others: [] });
    await bench.drained(news, `changelog:${others}`);
    expect(await bus.view(others).get("all")).toMatchObject({ n: 2 });
    expect(await bench.events(news)).toHaveLength(2);
    await expect(viewAt(bus, own, 0)).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await projector.stop();
    await changelog.stop();
  });

  it("a view cannot have the name of another one's build, and no build takes a table or a group that is there", async () => {
    const { bus, store } = bench;
    const topic = await bench.topic();
    const [view, kept] = [`named-${topic}`, `kept-${topic}`];
    const taken = { code: "INVALID_OPTION", message: expect.stringContaining("__2") };
    await expect(startChangelogProjector(bus, { topic, view: `${view}__2` })).rejects.toMatchObject(taken);
    const projectors = [
      await startChangelogProjector(bus, { topic, view }),
      await startTransactionalProjector(bus, {
        topic,
        group: "named",
        handler: async (events, tx) => {
          await expect(tx.view(kept).get("a")).resolves.toBeNull();
          expect(() => tx.view(`${kept}__12`)).toThrow("__12");
          for (const { key } of events) await tx.view(kept).inc(key as string, { n: 1 });
        },
      }),
    ];
    await bench.publish(topic, [{ payload: { n: 1 }, key: "a" }]);
    await bench.drained(topic, `changelog:${view}`);
    await bench.drained(topic, "named");
    // As an earlier version let it be.
    await store.documents.write(`${view}__2`, [{ op: "upsert", key: "mine", ts: 1, fields: {} }]);
    await expect(rebuildView(bus, view)).rejects.toMatchObject({
      code: "WRITE_CONFLICT",
      retryable: false,
    });
    expect((await store.documents.get(`${view}__2`, ["mine"])).size).toBe(1);
    const stop = await bus.subscribe(topic, "named__2", () => undefined, { from: "earliest" });
    await bench.drained(topic, "named__2");
    await expect(rebuildView(bus, kept)).rejects.toMatchObject({
      code: "WRITE_CONFLICT",
      retryable: false,
    });
    await stop();
    await store.documents.drop(`${view}__2`);
    await store.groups.remove({ topic, group: "named__2" });
    for (const name of [view, kept]) {
      expect(await (await rebuildView(bus, name)).result).toMatchObject({ same: 1, to: `${name}__2` });
    }
    for (const projector of projectors) await projector.stop();
  });

  it("of a log that lost events, a view that takes every event is built and compared, not switched", async () => {
    const { bus, store } = bench;
    const topic = await bench.topic();
    const view = `lossy-${topic}`;
    const projector = await startTransactionalProjector(bus, {
      topic,
      group: "lossy",
      handler: async (events, tx) => {
        for (const _ of events) await tx.view(view).inc("all", { n: 1 });
      },
    });
    await bench.publish(topic, [{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
    await bench.drained(topic, "lossy");
    await store.log.trim(topic, 0, 2);
    const rebuild = await rebuildView(bus, view);
    expect(await rebuild.result).toMatchObject({
      switched: false,
      gone: 2,
      changed: 1,
      samples: [{ key: "all", before: { n: 3 }, after: { n: 1 } }],
    });
    expect(await bus.view(view).get("all")).toMatchObject({ n: 3 });
    await expect((await rebuildView(bus, view, { from: "snapshot" })).result).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
    await projector.stop();
  });

  it("by code that fails it is built and compared, not switched, and its dead letters are nobody's", async () => {
    const { bus, store } = bench;
    const topic = await bench.topic();
    const view = `failing-${topic}`;
    const broken = new Set(["never"]);
    const projector = await startChangelogProjector<{ n: string }>(bus, {
      topic,
      view,
      map: ({ payload }) => {
        if (broken.has(payload.n)) throw new Fatal(`cannot take ${payload.n}`);
        return { n: payload.n };
      },
    });
    await bench.publish(
      topic,
      ["a", "never", "b", "c"].map((n) => ({ payload: { n }, key: n })),
    );
    await bench.drained(topic, `changelog:${view}`);
    broken.add("a").add("c");
    expect(await (await rebuildView(bus, view)).result).toMatchObject({
      switched: false,
      givenUp: 2,
      same: 1,
      removed: 2,
    });
    expect((await bus.view(view).find()).items.map(({ n }) => n)).toEqual(["a", "b", "c"]);
    expect(await summarizeDeadLetters(bus, topic)).toMatchObject({ open: 1, discarded: 3 });
    broken.delete("a");
    broken.delete("c");
    // What the build in use lacks itself is no reason.
    expect(await (await rebuildView(bus, view)).result).toMatchObject({
      switched: true,
      givenUp: 0,
      same: 3,
    });
    broken.add("a");
    const wanted = await (await rebuildView(bus, view, { switch: true })).result;
    expect(wanted).toMatchObject({ switched: true, givenUp: 1, removed: 1 });
    const groups = Object.keys((await summarizeDeadLetters(bus, topic)).byGroup);
    expect(groups).toContain(`changelog:${wanted.to}`);
    expect((await store.groups.list(topic)).map(({ group }) => group)).toContain(`changelog:${wanted.to}`);
    await projector.stop();
  });
}
