/** Events and drafts made by hand, for tests below the bus. */
import { type EventDraft, type EventMeta, StoredEvent } from "../../src/model/event.js";
import { JsonBody, jsonBody } from "../../src/model/json.js";

const LIMITS = { maxPayloadBytes: 1_000_000, maxPayloadDepth: 64 };

export interface EventSketch {
  readonly key?: string;
  readonly payload?: unknown;
  readonly topic?: string;
  readonly partition?: number;
  readonly ts?: number;
  readonly meta?: EventMeta;
}

export function storedEvent(seq: number, sketch: EventSketch = {}): StoredEvent {
  const { key, payload = seq, topic = "t.a", partition = 0, ts = seq, meta } = sketch;
  return new StoredEvent(topic, partition, seq, {
    id: `${topic}/${partition}/${seq}`,
    ts,
    key,
    meta,
    body: JsonBody.ofText(JSON.stringify(payload)),
  });
}

export function draft(id: string, payload: unknown = id, more: Partial<EventDraft> = {}): EventDraft {
  return {
    id,
    ts: 1,
    key: undefined,
    meta: undefined,
    body: jsonBody(payload, LIMITS),
    freshId: false,
    ...more,
  };
}
