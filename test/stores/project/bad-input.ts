/** What people hand in by mistake: one clear error each, and nothing happens. On every store: undefined must match nothing. */
import { describe, expect, it } from "vitest";
import { compactNow, startCompactor } from "../../../src/project/history/compactor.js";
import { history, stateAt } from "../../../src/project/history/time-travel.js";
import { verifyGroup } from "../../../src/project/history/verify.js";
import type { Host } from "../../../src/project/host.js";
import { discardDeadLetters, summarizeDeadLetters } from "../../../src/project/letters/dead-letters.js";
import { redrive } from "../../../src/project/letters/redrive.js";
import { runOutboxDrainer } from "../../../src/project/outbox-drainer.js";
import { rebuildView } from "../../../src/project/rebuild/rebuild.js";
import { rollbackView } from "../../../src/project/rebuild/view-rollback.js";
import { retainNow, startRetention } from "../../../src/project/retention/retention.js";
import { exportEvents } from "../../../src/project/transfer/export-events.js";
import { importEvents } from "../../../src/project/transfer/import-events.js";
import { replay } from "../../../src/project/transfer/replay.js";
import { startChangelogProjector } from "../../../src/project/views/changelog.js";
import { viewAt } from "../../../src/project/views/past-view.js";
import { startTransactionalProjector } from "../../../src/project/views/transactional.js";
import { warmView } from "../../../src/project/views/warm.js";
import type { ProjectBench } from "./bench.js";

type Call = (...args: unknown[]) => unknown;
type Case = readonly [call: unknown, code: string, ...args: unknown[]];

const handler = (): void => undefined;

/** `T` stands for a topic that is there. */
function casesOf(T: string): readonly Case[] {
  const [option, topic, none] = ["INVALID_OPTION", "INVALID_TOPIC", "NOT_FOUND"];
  return [
    [startChangelogProjector, option],
    [startChangelogProjector, topic, { view: "v" }],
    [startChangelogProjector, option, { topic: T }],
    [startChangelogProjector, option, { topic: T, view: "v", keyOf: "id" }],
    [startChangelogProjector, option, { topic: T, view: "v", indexes: [{ keys: { a: 2 } }] }],
    [startChangelogProjector, option, { topic: T, view: "v", indexes: [{}] }],
    [startChangelogProjector, option, { topic: T, view: "v", batchSize: 0 }],
    [startTransactionalProjector, option],
    [startTransactionalProjector, topic, { group: "g", handler }],
    [startTransactionalProjector, option, { topic: T, handler }],
    [startTransactionalProjector, option, { topic: T, group: "g" }],
    [startTransactionalProjector, option, { topic: T, group: "g", handler, from: "noon" }],
    [rebuildView, option],
    [rebuildView, option, "v", { from: "moon" }],
    [rollbackView, option],
    [warmView, option],
    [compactNow, option, { topics: T }],
    [compactNow, topic, { topic: 5 }],
    [compactNow, none, { topic: "not.there" }],
    [startCompactor, option, { everyMs: 0 }],
    [retainNow, option, { topics: T }],
    [retainNow, none, { topics: ["not.there"] }],
    [retainNow, none, { topic: "not.there" }],
    [retainNow, option, { onWouldLose: 5 }],
    [startRetention, option, { everyMs: -1 }],
    [redrive, option],
    [redrive, topic, {}],
    [redrive, option, { topic: T, rate: 0 }],
    [redrive, option, { topic: T, limit: -1 }],
    [redrive, option, { topic: T, transform: 5 }],
    [redrive, option, { topic: T, filter: 5 }],
    [redrive, option, { topic: T, handler: 5 }],
    [redrive, option, { topic: T, ids: "one" }],
    [redrive, topic, { topic: T, to: "NOT ONE" }],
    [summarizeDeadLetters, topic],
    [discardDeadLetters, option, T],
    [discardDeadLetters, option, T, { reason: "r", filter: 5 }],
    [discardDeadLetters, option, T, { reason: "r", ids: "one" }],
    [stateAt, topic, undefined, "k", 1],
    [stateAt, option, T, undefined, 1],
    [stateAt, option, T, "k"],
    [stateAt, option, T, "k", new Date(Number.NaN)],
    [viewAt, option, undefined, 1],
    [history, topic, undefined, "k"],
    [history, option, T],
    [replay, option],
    [replay, topic, { from: {}, to: "x.y" }],
    [replay, topic, { from: undefined, to: "x.y" }],
    [replay, option, { from: T, to: "x.y", filter: 1 }],
    [replay, topic, { from: T, to: "NOT ONE" }],
    [replay, option, { topic: T, group: undefined, to: "latest" }],
    [verifyGroup, option, T],
    [verifyGroup, topic, undefined, "g"],
    [importEvents, option],
    [importEvents, option, 5],
    [importEvents, option, {}],
    [allOf, topic],
    [allOf, option, T, { limit: "x" }],
    [allOf, option, T, { partition: 9 }],
    [allOf, option, T, { filter: 5 }],
    [allOf, option, T, { key: 5 }],
    [(bus: unknown, ...rest: unknown[]) => drain(rest[0], bus, rest[1]), option],
    [(bus: unknown, ...rest: unknown[]) => drain(rest[0], bus, rest[1]), option, {}],
  ];
}

const drain = runOutboxDrainer as unknown as Call;

async function allOf(host: Host, topic: never, options: never): Promise<number> {
  let lines = 0;
  for await (const _ of exportEvents(host, topic, options)) lines++;
  return lines;
}

export function describeBadInput(bench: ProjectBench): void {
  describe("what is wrong with a call", () => {
    it("is said in one error with a code, and nothing is started", async () => {
      const { bus, store } = bench;
      const topic = await bench.topic();
      await bench.publish(topic, [{ payload: { n: 1 }, key: "k" }]);
      const before = bus.tasks.reports().length;
      const codes: string[] = [];
      const expected: string[] = [];
      for (const [call, code, ...args] of casesOf(topic)) {
        const said = `${(call as { name: string }).name}(${JSON.stringify(args)})`;
        expected.push(`${said} ${code}`);
        codes.push(`${said} ${await codeOf(async () => (call as Call)(bus, ...args))}`);
      }
      expect(codes).toEqual(expected);
      for (const options of [{ batchSize: 0 }, { leaseMs: -1 }, { maxAttempts: 0 }, { everyMs: 0 }])
        expect(await codeOf(async () => drain(store.outbox, bus, options))).toBe("INVALID_OPTION");
      expect(bus.tasks.reports()).toHaveLength(before);
    });

    it("is said of a bus that was left out", async () => {
      const topic = await bench.topic();
      const calls = new Set(casesOf(topic).map(([call]) => call as Call));
      for (const call of calls)
        for (const args of [[], [topic, "k", 1], [{ topic }, bench.bus]])
          expect(await codeOf(async () => call(...args)), call.name).toBe("INVALID_OPTION");
    });

    it("is said of questions to a view: a condition that is misspelt does not match everything", async () => {
      const { bus } = bench;
      const topic = await bench.topic();
      const projector = await startChangelogProjector(bus, { topic, view: topic });
      await bench.publish(topic, [{ payload: { n: 1, s: "b" }, key: "k" }]);
      await bench.drained(topic, `changelog:${topic}`);
      const view = bus.view(topic);
      const wrong = [
        { where: "x" },
        { where: { n: { $gt: 1 } } },
        { where: { n: { above: 1 } } },
        { where: { n: [1] } },
        { where: { n: undefined } },
        { where: { n: { gt: true } } },
        { where: { n: { in: 1 } } },
        { order: "n" },
        { order: { field: 3 } },
        { after: 5 },
      ];
      for (const question of wrong)
        expect(await codeOf(() => view.find(question as never)), JSON.stringify(question)).toBe(
          "INVALID_OPTION",
        );
      for (const key of [undefined, null, 5])
        expect(await codeOf(() => view.get(key as never))).toBe("INVALID_OPTION");
      const right = { n: { gte: 1, lt: 2, in: [1], exists: true }, s: { gt: "a", lte: "b", prefix: "b" } };
      expect((await view.find({ where: right })).items).toHaveLength(1);
      await projector.stop();
    });
  });
}

async function codeOf(call: () => Promise<unknown>): Promise<unknown> {
  try {
    await call();
    return "none";
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}
