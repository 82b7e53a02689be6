/** Checks what a publisher hands in and makes a draft of it. One clear error per mistake, nothing kept on failure. */
import type { Clock } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import type { EventDraft, EventMeta, StoredEvent } from "../model/event.js";
import type { PublishOptions } from "../model/event-bus.js";
import { boundedBody, JsonBody, type JsonLimits, jsonBody, jsonBodyOf } from "../model/json.js";
import { keepShape } from "../model/kept-shapes.js";
import type { Limits } from "../model/limits.js";
import { REDRIVE_GROUP_HEADER } from "../model/topic.js";

/** The last moment that a Date can be: nobody could show a later one. */
const MAX_TS = 8.64e15;
const KNOWN = new Set(["id", "ts", "key", "headers", "tags", "caused_by", "sid", "partition", "payload"]);

/** Names and numbers, a group, two ids, each as long as it may be. */
const REDRIVE_CHARS = 4_096;

/** An event's, or those of its dead letter. */
const FEW_CAUSES = 2;
const CAUSES_CHARS = 1_024;

/** From options that were checked; `key` may come from elsewhere; `json` is the payload's JSON, if it is at hand. */
export function makeDraft(
  payload: unknown,
  options: PublishOptions,
  limits: Limits,
  clock: Clock,
  key = options.key,
  json?: string | JsonBody,
): Draft {
  const nowMs = clock.now();
  return new Draft(
    options.id ?? clock.newId(nowMs),
    options.ts ?? nowMs,
    key,
    metaOf(options, limits),
    bodyOf(payload, json, limits),
    options.id === undefined,
  );
}

function bodyOf(payload: unknown, json: string | JsonBody | undefined, limits: JsonLimits): JsonBody {
  if (json === undefined) return jsonBody(payload, limits);
  return json instanceof JsonBody ? boundedBody(json, limits) : jsonBodyOf(payload, json, limits);
}

/** Who waits for a draft. Exactly one of the two is called, once. */
export interface Waiter {
  /** Nothing else comes along with it, as far as its publisher knows. */
  readonly isAlone?: boolean;
  done(event: StoredEvent, duplicate: boolean): void;
  fail(error: BusError): void;
}

const NOBODY: Waiter = { done: () => undefined, fail: () => undefined };

/**
 * A draft that waits, or is under way. Not a literal: V8 takes note of literals that outlive a collection or two, makes all
 * that come from the same place among the old objects from then on, and keeps what they lead to until these are collected.
 */
export class Draft implements EventDraft {
  readonly id: string;
  readonly ts: number;
  readonly key: string | undefined;
  readonly meta: EventMeta | undefined;
  readonly body: JsonBody;
  readonly freshId: boolean;
  /** The bus made its id: nobody else can have published it. */
  readonly ownId: boolean;
  /** What it is counted as in queues, whatever becomes of its body. */
  readonly bytes: number;
  /** Who waits for it, and since when, on the steady clock; from the moment it is queued. */
  waiter: Waiter = NOBODY;
  addedMs = 0;
  ahead: object | undefined = undefined;

  constructor(
    id: string,
    ts: number,
    key: string | undefined,
    meta: EventMeta | undefined,
    body: JsonBody,
    freshId: boolean,
  ) {
    this.id = id;
    this.ts = ts;
    this.key = key;
    this.meta = meta;
    this.body = body;
    this.freshId = freshId;
    this.ownId = freshId;
    this.bytes = body.size;
  }

  /** The same, for another try: what was tried may be in the log, so that its id has to be looked up. */
  again(): Draft {
    const { id, ts, key, meta, body, ownId, bytes, waiter, addedMs } = this;
    return Object.assign(new Draft(id, ts, key, meta, body, false), { ownId, bytes, waiter, addedMs });
  }
}

// So that drafts share the box of their time, too (see model/event.ts).
const untimed = new Draft("", undefined as never, undefined, undefined, JsonBody.ofText("0"), true);
untimed.addedMs = undefined as never;
keepShape(untimed);

/** Throws INVALID_OPTION that names the option and what it takes. */
export function checkPublishOptions(options: PublishOptions, limits: Limits): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new BusError("INVALID_OPTION", "publish takes its options as an object: { key, id, headers, … }");
  }
  for (const name in options) {
    if (!KNOWN.has(name)) {
      throw new BusError(
        "INVALID_OPTION",
        `publish knows no option "${name}"; it takes ${[...KNOWN].slice(0, 8).join(", ")}`,
      );
    }
  }
  const { id, ts, key } = options;
  if (id !== undefined) checkText("id", id, limits.maxIdBytes, 1);
  if (key !== undefined) checkKey(key, limits);
  if (ts !== undefined && !(typeof ts === "number" && ts >= 0 && ts <= MAX_TS)) {
    throw new BusError(
      "INVALID_OPTION",
      "ts must be a time in milliseconds since the epoch, such as Date.now()",
    );
  }
}

/** Also of keys that a topic's definition makes of payloads: nobody else looks at those. */
export function checkKey(key: unknown, limits: Limits): void {
  checkText("key", key, limits.maxKeyBytes, 0);
}

function checkText(name: string, value: unknown, maxBytes: number, minLength: number): void {
  const fits =
    typeof value === "string" &&
    value.length >= minLength &&
    (value.length * 3 <= maxBytes || Buffer.byteLength(value) <= maxBytes);
  if (!fits) {
    throw new BusError(
      "INVALID_OPTION",
      `${name} must be a ${minLength > 0 ? "non-empty " : ""}string of at most ${maxBytes} bytes`,
    );
  }
  // UTF-8 has no place for them: stored, two ids would become one (P3), and a key another than the one that was given.
  if (!value.isWellFormed())
    throw new BusError("INVALID_OPTION", `${name} must not hold half of a surrogate pair`);
}

/** By headers that nobody can change: a layer that stamps every event hands in the same ones again and again. */
const sharedMetas = new WeakMap<object, { readonly meta: EventMeta; readonly chars: number }>();

function metaOf(options: PublishOptions, limits: Limits): EventMeta | undefined {
  const { headers, tags, caused_by, sid } = options;
  const alone = tags === undefined && caused_by === undefined && sid === undefined;
  if (headers === undefined && alone) return undefined;
  const shared = alone && headers !== null ? sharedMetas.get(headers as object) : undefined;
  if (shared !== undefined && shared.chars <= limits.maxMetaChars) return shared.meta;
  const { meta, chars } = newMeta(options, limits);
  if (alone && Object.isFrozen(headers)) sharedMetas.set(headers as object, { meta, chars });
  return meta;
}

function newMeta(
  { headers, tags, caused_by, sid }: PublishOptions,
  limits: Limits,
): { meta: EventMeta; chars: number } {
  const meta: EventMeta = {
    ...(headers === undefined ? undefined : { headers: copyHeaders(headers) }),
    ...(caused_by === undefined ? undefined : { caused_by: copyStrings("caused_by", caused_by) }),
    ...(tags === undefined ? undefined : { tags: copyStrings("tags", tags) }),
    ...(sid === undefined ? undefined : { sid: checkSid(sid) }),
  };
  const chars = JSON.stringify(meta).length;
  const over = chars - limits.maxMetaChars;
  if (over > 0 && over > roomToComeBack(meta) + roomForCauses(meta)) {
    throw new BusError(
      "INVALID_OPTION",
      `headers, tags and caused_by have more than ${limits.maxMetaChars} characters together`,
    );
  }
  return { meta: Object.freeze(meta), chars };
}

/** A redrive says whose event it is, which one, and what it comes from: one that had all the room there is comes back, too. */
function roomToComeBack({ headers }: EventMeta): number {
  return headers !== undefined && Object.hasOwn(headers, REDRIVE_GROUP_HEADER) ? REDRIVE_CHARS : 0;
}

/** Nor does a copy fail for saying what it is a copy of. */
function roomForCauses({ caused_by }: EventMeta): number {
  if (caused_by === undefined || caused_by.length > FEW_CAUSES) return 0;
  // Of the braces around it one stands for the comma beside it.
  return Math.min(JSON.stringify({ caused_by }).length - 1, CAUSES_CHARS);
}

function copyHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries =
    typeof headers === "object" && headers !== null && !Array.isArray(headers)
      ? Object.entries(headers)
      : [["", 0] as const];
  for (const [name, value] of entries) {
    if (typeof value !== "string") {
      throw new BusError("INVALID_OPTION", `headers must be strings by name; "${name}" is not`);
    }
  }
  return Object.freeze(Object.fromEntries(entries as [string, string][]));
}

function copyStrings(name: string, values: readonly string[]): readonly string[] {
  if (!Array.isArray(values) || values.some((value) => typeof value !== "string")) {
    throw new BusError("INVALID_OPTION", `${name} must be an array of strings`);
  }
  return Object.freeze([...values]);
}

function checkSid(sid: unknown): string {
  if (typeof sid !== "string") throw new BusError("INVALID_OPTION", "sid must be a string");
  return sid;
}
