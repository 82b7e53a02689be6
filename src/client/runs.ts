/** Events out of a frame that has a list for each of their parts. */
import type { EventsFrame } from "../hub/protocol.js";
import type { EventRecord } from "../model/event.js";

/** The n-th of them, with its members in the order that events have everywhere. */
export function eventAt(frame: EventsFrame, n: number): EventRecord {
  const { topic, partition, seqs, metas } = frame;
  const id = frame.ids[n] as string;
  const seq = seqs === undefined ? frame.seq + n : (seqs[n] as number);
  const ts = frame.ts + (frame.later[n] as number);
  const key = frame.keys?.[n] ?? null;
  const payload = frame.payloads[n];
  if (metas !== undefined)
    return { id, topic, partition, seq, ts, ...(key !== null && { key }), ...metas[n], payload };
  if (key === null) return { id, topic, partition, seq, ts, payload };
  return { id, topic, partition, seq, ts, key, payload };
}
