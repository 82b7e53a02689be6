/**
 * Old payloads in the form of newer versions: one step for each version, taken one after the other, and the end checked
 * against the schema it claims to fit. No step is needed to a version that takes what the one before wrote (`backward`, `full`): there
 * the payload stays as it is. Any other step that is missing is an error: half an upcast is nobody's version.
 */
import { BusError, describeThrown } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import { baseTopic, checkTopicName, isDeadLetterTopic, type TopicRef, topicName } from "../../model/topic.js";
import type { SchemaSource } from "../registry/catalog.js";
import type { NamedTopic } from "../registry/registration.js";
import { takesOlder } from "../registry/schema-version.js";
import { headerVersion, SCHEMA_VERSION_HEADER, schemaTopic } from "../registry/versioned-topic.js";

/** More than these are not listed: versions may be dates. */
const MAX_MISSING = 1_000;

/** Makes a payload of version N+1 of one of version N. Must not change its argument, which others share. */
export type UpcastStep<From = never, To = unknown> = (payload: From) => To;

/**
 * Steps from each version of a topic's payload to the next.
 *
 * @example
 * const upcasts = new UpcastChain()
 *   .add("orders.placed", 1, (v1: { order: number }) => ({ order: String(v1.order) }))   // 1 → 2
 *   .add("orders.placed", 2, (v2: { order: string }) => ({ ...v2, currency: "EUR" }));   // 2 → 3
 */
export class UpcastChain {
  readonly #steps = new Map<string, Map<number, UpcastStep<unknown>>>();

  /** Adds the step from version `from` to `from + 1`. INVALID_OPTION if there is one already. */
  add<From, To>(topic: string | NamedTopic, from: number, step: UpcastStep<From, To>): this {
    const name = topicName(topic);
    checkTopicName(name);
    if (!Number.isSafeInteger(from) || from < 1 || typeof step !== "function") {
      throw new BusError("INVALID_OPTION", "an upcast is a version from 1 on and a function");
    }
    const steps = this.#steps.get(name) ?? new Map<number, UpcastStep<unknown>>();
    if (steps.has(from)) {
      throw new BusError(
        "INVALID_OPTION",
        `"${name}" has an upcast from version ${from} to ${from + 1} already`,
      );
    }
    this.#steps.set(name, steps.set(from, step as UpcastStep<unknown>));
    return this;
  }

  /** Versions between `from` and `to` that have no step onwards, the first thousand of them. */
  missing(topic: TopicRef, from: number, to: number): readonly number[] {
    const steps = this.#steps.get(topicName(topic));
    const found: number[] = [];
    for (let version = from; version < to && found.length < MAX_MISSING; version++)
      if (!steps?.has(version)) found.push(version);
    return found;
  }

  /** A payload of version `from` as one of version `to`, not yet checked. NOT_FOUND names the step that is missing. */
  upcast(of: TopicRef, payload: unknown, from: number, to: number): unknown {
    const topic = topicName(of);
    const gap = this.#firstGap(topic, from, to);
    if (gap !== undefined) throw stepMissing(topic, gap, { from, to });
    let current = payload;
    for (let version = from; version < to; version++) current = this.#step(topic, current, version);
    return current;
  }

  /** Without a list of all there are: versions may be dates. */
  #firstGap(topic: string, from: number, to: number): number | undefined {
    const steps = this.#steps.get(topic);
    for (let version = from; version < to; version++) if (!steps?.has(version)) return version;
    return undefined;
  }

  #step(topic: string, payload: unknown, from: number): unknown {
    try {
      return this.#steps.get(topic)?.get(from)?.(payload);
    } catch (error) {
      throw stepFailed(topic, from, error);
    }
  }
}

function stepMissing(topic: string, missing: number, { from, to }: { from: number; to: number }): BusError {
  return new BusError(
    "NOT_FOUND",
    `"${topic}" has no upcast from version ${missing} to ${missing + 1}, needed to get from ${from} to ${to}`,
    { details: { topic, from, to, missing } },
  );
}

function stepFailed(topic: string, from: number, cause: unknown): BusError {
  const message = `the upcast of "${topic}" from version ${from} to ${from + 1} failed: ${describeThrown(cause)}`;
  return new BusError("SCHEMA_VIOLATION", message, { cause, details: { topic, from, to: from + 1 } });
}

/** By which schemas and steps an event is brought to which version. */
export interface NormalizeOptions {
  readonly schemas: SchemaSource;
  readonly upcasts?: UpcastChain;
  /** The version to bring events to. Default: the newest that this process declared. */
  readonly target?: number;
  /** The version of events that carry none. Default: the oldest that is registered. */
  readonly unversioned?: number;
}

const NO_STEPS = new UpcastChain();

/**
 * An event with its payload in the newest version, checked, and its version header saying so; defaults are filled in
 * if this process has the Zod schema. Events of topics without a schema, and tombstones, stay as they are; in a dead
 * letter it is the event inside that is brought up to date. An event that is newer than the reader is checked against
 * the reader's own version: forward compatibility.
 */
export function normalizeEvent(event: EventRecord, options: NormalizeOptions): EventRecord {
  return inVersion(event, options, "value");
}

/** As normalizeEvent, in the form that is stored: for those who write it on. */
export function upcastEvent(event: EventRecord, options: NormalizeOptions): EventRecord {
  return inVersion(event, options, "payload");
}

function inVersion(event: EventRecord, options: NormalizeOptions, form: "value" | "payload"): EventRecord {
  if (isDeadLetterTopic(event.topic)) return letterInVersion(event, options, form);
  const source = schemaTopic(event.topic, options.schemas);
  if (source === undefined || event.payload === null) return event;
  const { topic } = source;
  const oldest = options.schemas.versions(topic)[0]?.version ?? 1;
  const from = versionOf(event, source.version) ?? options.unversioned ?? oldest;
  const to = options.target ?? options.schemas.current(topic)?.version ?? oldest;
  const checked = options.schemas.validate(topic, upcastAll(topic, event.payload, { from, to }, options), to);
  const headers = { ...event.headers, [SCHEMA_VERSION_HEADER]: String(to) };
  return Object.freeze({ ...event, headers, payload: checked?.[form] });
}

/** Takes every step there is on the way; none if one is missing. */
function upcastAll(
  topic: string,
  payload: unknown,
  { from, to }: { readonly from: number; readonly to: number },
  { schemas, upcasts = NO_STEPS }: NormalizeOptions,
): unknown {
  const steps: number[] = [];
  for (let version = from; version < to; ) {
    if (upcasts.missing(topic, version, version + 1).length === 0) steps.push(version++);
    else {
      const next = takenAsItIs(schemas, topic, version);
      if (next === undefined || next > to) throw stepMissing(topic, version, { from, to });
      version = next;
    }
  }
  return steps.reduce((current, step) => upcasts.upcast(topic, current, step, step + 1), payload);
}

/** The version after this one, if it takes what this one wrote. */
function takenAsItIs(schemas: SchemaSource, topic: string, version: number): number | undefined {
  const versions = schemas.versions(topic);
  const at = versions.findIndex((each) => each.version === version);
  const next = at < 0 ? undefined : versions[at + 1];
  return next !== undefined && takesOlder(next.compat) ? next.version : undefined;
}

function versionOf(event: EventRecord, ofTopic: number | undefined): number | undefined {
  return headerVersion(event.headers, `event ${event.id}`) ?? ofTopic;
}

function letterInVersion(
  letter: EventRecord,
  options: NormalizeOptions,
  form: "value" | "payload",
): EventRecord {
  const payload = letter.payload as { readonly event?: EventRecord } | null;
  const inside = payload?.event;
  if (inside === undefined || inside === null || typeof inside !== "object") return letter;
  const event = inVersion({ ...inside, topic: inside.topic ?? baseTopic(letter.topic) }, options, form);
  return Object.freeze({ ...letter, payload: { ...payload, event } });
}
