/** P2: topics that are removed are gone whole, whoever dies in the middle, and their seqs go on. */
import { pause, systemClock } from "../../../../src/model/clock.js";
import { BusError } from "../../../../src/model/errors.js";
import { deadLetterTopic } from "../../../../src/model/topic.js";
import { differs, type Role } from "./role.js";

const PREFIX = "old-";
const TOPICS = 6;
const EVENTS = 20;

export const removerRole: Role = {
  async prepare({ bus }) {
    const { log, groups, registry } = bus.store;
    const names: string[] = [];
    const there = async (): Promise<string[]> =>
      (await bus.topics()).map(({ name }) => name).filter((name) => name.includes(PREFIX));
    return {
      // The last event comes when all else is there: a topic that is removed before it is back then, and is removed again.
      burst: async (seed) => {
        for (let n = 0; n < TOPICS; n++) {
          const name = `${PREFIX}${seed}-${n}`;
          names.push(name);
          await bus.defineTopic({ name, partitions: 2 });
          await groups.start({ topic: name, group: "mailer" }, [0, 0]);
          const schema = { topic: name, version: 1, compat: "none", document: {}, createdMs: 1 };
          await registry.putSchema(schema, { expectedLatest: 0 });
          for (const topic of [deadLetterTopic(name), name])
            for (let i = 0; i < EVENTS; i++) await bus.publish(topic, i, { partition: 0 });
        }
      },
      finished: async () => (await there()).length === 0,
      anomalies: async () => {
        const wrong: string[] = [];
        for (const name of names) {
          wrong.push(...differs(`groups of ${name}`, await groups.list(name), []));
          wrong.push(...differs(`schemas of ${name}`, await registry.schemas(name), []));
          for (const topic of [name, deadLetterTopic(name)]) {
            const { events } = await log.read(topic, 0, { after: 0, limit: 9 });
            wrong.push(...differs(`events of ${topic}`, events.length, 0));
            const { seq } = await bus.publish(topic, "again", { partition: 0 });
            wrong.push(...differs(`the next seq of ${topic}`, seq, EVENTS + 1));
          }
        }
        return wrong;
      },
    };
  },
  async work({ bus }) {
    const over = new AbortController();
    let removed = 0;
    const round = async (): Promise<void> => {
      for (const { name } of await bus.topics()) {
        if (over.signal.aborted || !name.startsWith(PREFIX)) continue;
        try {
          await bus.admin.removeTopic(name);
          removed++;
        } catch (error) {
          // It was written to meanwhile.
          if (!BusError.is(error, "WRITE_CONFLICT")) throw error;
        }
      }
    };
    const running = (async () => {
      while (!over.signal.aborted) {
        await round();
        await pause(systemClock, 1, over.signal);
      }
    })();
    return {
      done: () => removed,
      stop: async () => {
        over.abort();
        await running;
      },
    };
  },
};
