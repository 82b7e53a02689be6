/** A topic that is removed: whole, whoever ends in the middle of it, and whoever has it open. */
import { describe, expect, it } from "vitest";
import { Fatal } from "../../../src/model/errors.js";
import { discardDeadLetters } from "../../../src/project/letters/dead-letters.js";
import { outcomesView } from "../../../src/project/letters/letter-reading.js";
import { failure } from "../../support/failure.js";
import type { ProjectBench } from "./bench.js";
import { dieAtEachChange } from "./dying-store.js";

export function describeRemovedTopics(bench: ProjectBench): void {
  /** A topic with events, a paused group, a schema and dead letters, of which one was discarded. */
  const used = async (): Promise<string> => {
    const topic = await bench.topic({ partitions: 2 });
    await bench.publish(
      topic,
      ["a", "b", "c"].map((key) => ({ payload: key, key })),
    );
    const refuse = (): never => {
      throw new Fatal("no");
    };
    const stop = await bench.bus.subscribe(topic, "mailer", refuse, { from: "earliest" });
    await bench.drained(topic, "mailer");
    await stop();
    await discardDeadLetters(bench.bus, topic, { key: "a", reason: "known" });
    await bench.bus.admin.pause({ topic, group: "mailer" });
    const schema = { topic, version: 1, compat: "none", document: {}, createdMs: 1 };
    await bench.store.registry.putSchema(schema, { expectedLatest: 0 });
    return topic;
  };

  const namesOf = async (topic: string): Promise<string[]> =>
    (await bench.bus.topics()).map(({ name }) => name).filter((name) => name.endsWith(topic));

  const expectNothingLeft = async (topic: string): Promise<void> => {
    const { registry, groups, documents, log } = bench.store;
    expect(await namesOf(topic)).toEqual([]);
    expect(await registry.schemas(topic)).toEqual([]);
    expect(await groups.list(topic)).toEqual([]);
    expect(
      [...(await registry.tokens("group-pause:")).keys()].filter((name) => name.includes(topic)),
    ).toEqual([]);
    const views = (await documents.views()).map(({ view }) => view);
    expect(views).not.toContain(outcomesView(topic));
    for (const name of [topic, `dlq.${topic}`])
      for (const partition of [0, 1])
        expect((await log.read(name, partition, { after: 0, limit: 9 })).events).toEqual([]);
  };

  describe("a topic that is removed", () => {
    it("P2: leaves nothing, and goes on with its next seqs, in whatever process", async () => {
      const topic = await used();
      const other = await bench.secondBus();
      const { id } = await other.publish(topic, 1, { key: "a" });
      expect(await bench.bus.admin.removeTopic(topic)).toMatchObject({ events: 4, deadLetters: 2 });
      await expectNothingLeft(topic);
      expect(await other.publish(topic, 2, { key: "a", id })).not.toHaveProperty("duplicate", true);
      const heads = await bench.store.log.heads(topic);
      expect(heads.reduce((sum, { head }) => sum + head, 0)).toBe(5);
      expect(await bench.events(topic)).toMatchObject([{ payload: 2 }]);
      expect(await namesOf(topic)).toEqual([topic]);
    });

    it("is there, or can be removed by whoever comes next, wherever the one who removes it ends", async () => {
      await dieAtEachChange(bench.store, async (store, isDead) => {
        const topic = await used();
        await using bus = await bench.busOn(store);
        const outcome = await bus.admin.removeTopic(topic).then(
          () => "removed",
          () => "died",
        );
        expect(outcome).toBe(isDead() ? "died" : "removed");
        const isThere = (await bench.store.registry.topic(topic)) !== null;
        if (isThere) expect(await bench.bus.admin.removeTopic(topic)).toMatchObject({ removed: true });
        else expect(await failure(bench.bus.admin.removeTopic(topic))).toMatchObject({ code: "NOT_FOUND" });
        await expectNothingLeft(topic);
      });
    }, 120_000);
  });
}
