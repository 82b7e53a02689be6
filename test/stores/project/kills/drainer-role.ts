/** P10: each entry of the outbox becomes one event under its id, each key in the order of addition. */
import { runOutboxDrainer } from "../../../../src/project/outbox-drainer.js";
import { differs, type Role } from "./role.js";

const topic = "drained";
const KEYS = 7;
const BURST = 120;

export const drainerRole: Role = {
  async prepare({ bus }) {
    await bus.defineTopic({ name: topic, partitions: 4 });
    const { outbox } = bus.store;
    let added = 0;
    return {
      burst: async () => {
        for (let i = 0; i < BURST; i++, added++) {
          await outbox.add({ id: `entry-${added}`, topic, payload: added, key: `k${added % KEYS}` });
        }
      },
      finished: async () => {
        const { pending, claimed } = await outbox.stats();
        return pending + claimed === 0;
      },
      anomalies: async () => {
        const byKey: number[][] = Array.from({ length: KEYS }, () => []);
        for await (const { id, payload } of bus.read<number>(topic)) {
          if (id !== `entry-${payload}`) return [`event ${id} says ${payload}`];
          byKey[payload % KEYS]?.push(payload);
        }
        const expected = byKey.map((_, key) =>
          Array.from({ length: Math.ceil((added - key) / KEYS) }, (_v, i) => key + i * KEYS),
        );
        return differs("the events of each key, in order", byKey, expected);
      },
    };
  },
  async work({ bus }) {
    const options = { batchSize: 20, everyMs: 5, leaseMs: 300 };
    const drainer = runOutboxDrainer(bus.store.outbox, bus, options);
    return { done: () => drainer.stats().sent, stop: drainer.stop };
  },
};
