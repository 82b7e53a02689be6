/** Outbox entries as documents and back; and when they are due, by the server's clock. */
import { BSON, type Document, Timestamp } from "mongodb";
import { BusError } from "../../../model/errors.js";
import { canonicalText, freezeJson, jsonBody } from "../../../model/json.js";
import type { OutboxEntry, OutboxRow } from "../../../ports/outbox.js";
import { bsonText, plainText } from "../bson-json.js";
import type { OutboxDocument } from "../collections.js";
import { metaDocument, metaOf } from "../events/event-document.js";

export const NOW_MS = { $toLong: "$$NOW" };
/** Its lease or its wait is over. */
export const IS_DUE = { $expr: { $lte: ["$dueMs", NOW_MS] } } as const;
export const IS_NOT_DUE = { $expr: { $gt: ["$dueMs", NOW_MS] } } as const;

/** What a server says of its clocks in answer to `hello`; one that is no replica set has no logical time. */
export interface ServerTimes {
  readonly localTime: Date;
  readonly operationTime?: Timestamp;
}

/** Sent longer ago than that. */
export function sentBefore(ageMs: number, times: ServerTimes): Document {
  const isOld = { $lt: ["$dueMs", { $subtract: [NOW_MS, { $literal: ageMs }] }] };
  return { status: "sent", ...addedBefore(ageMs, times), $expr: isOld };
}

/** A logical time that is further ahead of the clock stands still until that has come as far. */
const MAX_AHEAD_MS = 60_000;
const MAX_SECONDS = 2 ** 32 - 1;
const MAX_DATE_MS = 8.64e15;

/**
 * As everything was that was sent before then: by index, so that nobody walks through what is kept. No bound while the times of
 * addition tell nothing of the clock.
 */
function addedBefore(ageMs: number, { localTime, operationTime }: ServerTimes): Document {
  const nowMs = localTime.getTime();
  if (operationTime !== undefined && operationTime.t * 1_000 > nowMs + MAX_AHEAD_MS) return {};
  const thenMs = clamp(nowMs - ageMs, -MAX_DATE_MS, MAX_DATE_MS);
  const t = clamp(Math.ceil(thenMs / 1_000), 0, MAX_SECONDS);
  // Entries of a server that became a replica set have times of both kinds.
  return { $or: [{ at: { $lt: new Timestamp({ t, i: 0 }) } }, { at: { $lt: new Date(thenMs) } }] };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

/** The time so much later than now. */
export function inMs(lengthMs: number): Document {
  return { $add: [NOW_MS, { $literal: lengthMs }] };
}

/** What a document of 16 MiB has room for, beside what is noted of an entry later: claims, and errors. */
const MAX_ENTRY_BYTES = 16 * 1_048_576 - 65_536;

/**
 * Members that come from the entry. Refuses what JSON cannot keep, and what would leave no room to claim it: an entry that cannot
 * be claimed holds up all others.
 */
export function entryFields(entry: OutboxEntry): Document {
  const fields = fieldsOf(entry);
  if (BSON.calculateObjectSize(fields) <= MAX_ENTRY_BYTES) return fields;
  throw new BusError(
    "PAYLOAD_TOO_LARGE",
    `the outbox entry "${entry.id}" is too large: MongoDB takes 16 MiB per document at most`,
  );
}

function fieldsOf({ topic, payload, key, ts, headers, caused_by, tags, sid }: OutboxEntry): Document {
  const body = jsonBody(payload);
  return {
    topic,
    payload: body.text,
    ...(key === undefined ? undefined : { key: bsonText(key) }),
    ...(ts === undefined ? undefined : { ts }),
    ...metaDocument({
      ...(headers === undefined ? undefined : { headers }),
      ...(caused_by === undefined ? undefined : { caused_by }),
      ...(tags === undefined ? undefined : { tags }),
      ...(sid === undefined ? undefined : { sid }),
    }),
  };
}

export function entryOf(document: OutboxDocument): OutboxEntry {
  const { _id, topic, payload, key, ts } = document;
  return {
    id: plainText(_id),
    topic,
    payload: freezeJson(JSON.parse(payload) as unknown),
    ...(key === undefined ? undefined : { key: plainText(key) }),
    ...(ts === undefined ? undefined : { ts }),
    ...metaOf(document),
  };
}

export function rowOf(document: OutboxDocument): OutboxRow {
  const { status, failures, error, addedMs } = document;
  return {
    ...entryOf(document),
    status,
    failures,
    addedMs,
    ...(error === undefined ? undefined : { error }),
  };
}

/** Topic, key and payload count, as they do in the log (P3). */
export function saysTheSame(document: OutboxDocument, entry: OutboxEntry): boolean {
  const present = entryOf(document);
  return (
    present.topic === entry.topic &&
    present.key === entry.key &&
    canonicalText(present.payload) === canonicalText(JSON.parse(entryFields(entry).payload as string))
  );
}

/** Comes before in order of addition. */
export function isBefore(a: OutboxDocument, b: OutboxDocument): boolean {
  const order = compareTimes(a.at, b.at);
  return order < 0 || (order === 0 && a.nth < b.nth);
}

function compareTimes(a: OutboxDocument["at"], b: OutboxDocument["at"]): number {
  if (a instanceof Date || b instanceof Date) return Number(a) - Number(b);
  return a.compare(b);
}
