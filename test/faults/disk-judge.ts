/** Whether a store file holds what was acknowledged, is sound in itself, and can be written again. */

import { BusError } from "../../src/model/errors.js";
import type { StoredEvent } from "../../src/model/event.js";
import { JsonBody } from "../../src/model/json.js";
import type { EmbeddedStore } from "../../src/stores/embedded/index.js";
import { storedLog } from "../support/kept-history.js";
import { type AckLine, PARTITIONS, PROJECTION, TOPIC, VIEW } from "./disk-names.js";
import type { FaultAnomaly } from "./report.js";

export async function judgeDisk(
  store: EmbeddedStore,
  acked: readonly AckLine[],
): Promise<readonly FaultAnomaly[]> {
  const anomalies: FaultAnomaly[] = [];
  try {
    const logs = await Promise.all(Array.from({ length: PARTITIONS }, (_, p) => storedLog(store, TOPIC, p)));
    anomalies.push(...judgeLogs(logs, acked), ...(await judgeView(store, logs)));
    anomalies.push(...(await judgeWriting(store, logs)));
  } catch (error) {
    const { code, message } = BusError.from(error);
    anomalies.push({ class: "does-not-read", says: `${code}: ${message}` });
  }
  return anomalies;
}

function judgeLogs(logs: readonly (readonly StoredEvent[])[], acked: readonly AckLine[]): FaultAnomaly[] {
  const anomalies: FaultAnomaly[] = [];
  const ids = new Set<string>();
  for (const [partition, log] of logs.entries()) {
    for (const [i, { seq, id }] of log.entries()) {
      if (seq !== i + 1)
        anomalies.push({ class: "seq-gap", says: `partition ${partition} has seq ${seq} at place ${i + 1}` });
      if (ids.has(id)) anomalies.push({ class: "id-twice", says: id });
      ids.add(id);
    }
  }
  for (const { id, partition, seq } of acked) {
    if (logs[partition]?.[seq - 1]?.id !== id)
      anomalies.push({
        class: "lost",
        says: `${id} was acknowledged at ${partition}:${seq} and is not there`,
      });
  }
  return anomalies;
}

/** The view counts, by key, exactly the events below the floors of its group. */
async function judgeView(
  store: EmbeddedStore,
  logs: readonly (readonly StoredEvent[])[],
): Promise<FaultAnomaly[]> {
  const state = await store.groups.state({ topic: TOPIC, group: PROJECTION }, { nowMs: Date.now() });
  const wanted: Record<string, number> = {};
  for (const { partition, cursor } of state?.leases ?? []) {
    for (const { key = "-", seq } of logs[partition] ?? [])
      if (seq <= cursor.floor) wanted[key] = (wanted[key] ?? 0) + 1;
  }
  const { documents } = await store.documents.find(VIEW, { limit: 1_000 });
  const found = Object.fromEntries(documents.map(({ key, fields }) => [key, fields.count]));
  const isSame =
    Object.keys(wanted).length === Object.keys(found).length &&
    Object.entries(wanted).every(([key, count]) => found[key] === count);
  if (isSame) return [];
  return [
    {
      class: "effect-twice",
      says: `the view says ${JSON.stringify(found)}, the log ${JSON.stringify(wanted)}`,
    },
  ];
}

async function judgeWriting(
  store: EmbeddedStore,
  logs: readonly (readonly StoredEvent[])[],
): Promise<FaultAnomaly[]> {
  const body = JsonBody.ofText('"after"');
  const draft = { id: "after", ts: 0, key: "k", meta: undefined, body, freshId: false };
  const { events } = await store.log.append(TOPIC, 0, [draft]);
  const wanted = (logs[0]?.length ?? 0) + 1;
  if (events[0]?.seq === wanted) return [];
  return [{ class: "seq-gap", says: `the next event got seq ${events[0]?.seq}, not ${wanted}` }];
}
