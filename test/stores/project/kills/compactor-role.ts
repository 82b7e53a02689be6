/** P11: nothing that a key still stands for is ever gone, in the log or in its snapshot. */
import type { EventRecord } from "../../../../src/model/event.js";
import { snapshotTopic } from "../../../../src/model/topic.js";
import { compactNow, startCompactor } from "../../../../src/project/history/compactor.js";
import type { SnapshotEntry } from "../../../../src/project/history/snapshot.js";
import { finalState, traffic } from "../traffic.js";
import { differs, type Role } from "./role.js";

const topic = "compacted";

export const compactorRole: Role = {
  async prepare({ bus }) {
    await bus.defineTopic({ name: topic, partitions: 2, compaction: true, tombstoneRetentionMs: 0 });
    const published: EventRecord[] = [];
    const left = async (name: string): Promise<EventRecord[]> => {
      const events: EventRecord[] = [];
      for await (const event of bus.read(name)) events.push(event);
      return events.sort((a, b) => a.seq - b.seq);
    };
    return {
      burst: async (seed) => {
        for (let part = 0; part < 6; part++) {
          published.push(
            ...(await bus.publishMany(topic, traffic({ events: 40, keys: 30, seed: seed + part }))),
          );
        }
      },
      finished: async () => true,
      anomalies: async () => {
        const expected = finalState(published);
        const found = await left(topic);
        const wrong = differs("the log as the killed ones left it", finalState(found), expected);
        if (found.length >= published.length) wrong.push("nothing was compacted");
        await compactNow(bus, { topic, pauseMs: 0, keepSnapshotsMs: 0 });
        const log = await left(topic);
        wrong.push(...differs("the compacted log", finalState(log), expected));
        const keyed = log.filter(({ key }) => key !== undefined).length;
        wrong.push(...differs("events of keys in the compacted log", keyed, Object.keys(expected).length));
        const entries = (await left(snapshotTopic(topic))).map((entry) => ({
          ...entry,
          payload: (entry.payload as SnapshotEntry).payload,
        }));
        return [...wrong, ...differs("the snapshot", finalState(entries), expected)];
      },
    };
  },
  async work({ bus }) {
    const options = { topic, everyMs: 1, pauseMs: 0, batchSize: 20, maxKeys: 15, keepSnapshotsMs: 0 };
    const compactor = startCompactor(bus, options);
    return { done: () => compactor.stats().removed, stop: compactor.stop };
  },
};
