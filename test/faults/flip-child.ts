/**
 * Reads damaged store files, a path per line of its input, and answers each with a line that says what every way into the
 * store gave: an answer, or an error. A process of its own, since an engine that meets what it never expected may end
 * the process it runs in.
 */

import { createInterface } from "node:readline";
import { BusError } from "../../src/model/errors.js";
import type { StoredEvent } from "../../src/model/event.js";
import { type EmbeddedStore, embeddedStore } from "../../src/stores/embedded/index.js";
import { storedLog } from "../support/kept-history.js";
import { PARTITIONS, PASSING, TOPIC } from "./disk-names.js";

const EVENTS = 150;
const KEYS = 7;

type Look = (store: EmbeddedStore) => Promise<unknown>;

/** Every way into the log, and the rest of what a store holds. */
const LOOKS: Readonly<Record<string, Look>> = {
  ...Object.fromEntries(
    Array.from({ length: PARTITIONS }, (_, partition) => [
      `log ${partition}`,
      async (store: EmbeddedStore) => (await storedLog(store, TOPIC, partition)).map(told),
    ]),
  ),
  "history by key": async (store) => (await store.log.history(TOPIC, "k3", { limit: 1_000 })).map(told),
  "latest by key": async (store) =>
    [
      ...(await store.log.latestByKey(
        TOPIC,
        Array.from({ length: KEYS }, (_, k) => `k${k}`),
      )),
    ].map(([key, event]) => [key, told(event)]),
  heads: (store) => store.log.heads(TOPIC),
  topics: async (store) => (await store.registry.topics()).map(({ name }) => name),
  "ends of what was removed": async (store) =>
    (await store.log.heads(PASSING)).map(({ head, events }) => ({ head, events })),
  "rest of what was removed": async (store) => (await storedLog(store, PASSING, 0)).map(told),
  check: async (store) => (await store.check()).problems,
  "by id": async (store) => {
    const found: unknown[] = [];
    for (let n = 1; n <= EVENTS; n += 10) {
      const event = await store.log.find(`f${n}`);
      found.push(event === null ? null : told(event));
    }
    return found;
  },
};

/** What each way in says: an answer, or an error. */
async function lookAt(path: string): Promise<[name: string, answer: string][]> {
  const store = embeddedStore({ path, onWarning: () => undefined });
  try {
    await store.open();
  } catch (error) {
    const { code, message } = BusError.from(error);
    return [["open", `error ${code} ${message}`]];
  }
  const answers: [string, string][] = [];
  for (const [name, look] of Object.entries(LOOKS)) {
    const answer = await look(store).then(
      (value) => JSON.stringify(value),
      (error: unknown) => {
        const { code, message } = BusError.from(error);
        return `error ${code} ${message}`;
      },
    );
    answers.push([name, answer]);
  }
  await store.close().catch(() => undefined);
  return answers;
}

function told({ partition, seq, id, key, record }: StoredEvent): unknown {
  return { partition, seq, id, key, record };
}

for await (const path of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await lookAt(path)));
}
