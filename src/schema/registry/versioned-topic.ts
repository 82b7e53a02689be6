/** The version of an event's payload, and the topics that hold one version each: `<topic>.v<N>`. */
import { BusError } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import { type TopicRef, topicName } from "../../model/topic.js";
import type { SchemaSource } from "./catalog.js";

/** The header that says which version of its topic's schema a payload was checked against. */
export const SCHEMA_VERSION_HEADER = "x-schema-version";

/** Versions have nine digits at most, in headers and names of topics, too. */
export const MAX_VERSION = 999_999_999;

/** The topic that holds version `version` of `topic` alone, while both are written. */
export function versionedTopic(topic: TopicRef, version: number): string {
  return `${topicName(topic)}.v${version}`;
}

/** The topic whose schema speaks of `topic`: its own, or for `<topic>.vN` that of `<topic>`. undefined: none does. */
export function schemaTopic(
  topic: string,
  schemas: SchemaSource,
): { readonly topic: string; readonly version?: number } | undefined {
  if (schemas.latest(topic) !== undefined) return { topic };
  const split = splitVersioned(topic);
  return split !== undefined && schemas.latest(split.topic) !== undefined ? split : undefined;
}

/** `orders.placed.v2` → `orders.placed` and 2; undefined for other names. */
export function splitVersioned(
  topic: string,
): { readonly topic: string; readonly version: number } | undefined {
  const match = /^(.+)\.v([1-9]\d{0,8})$/.exec(topic);
  return match?.[1] === undefined ? undefined : { topic: match[1], version: Number(match[2]) };
}

/** What the header says; undefined if it says nothing. SCHEMA_VIOLATION if it is not a version. */
export function headerVersion(headers: EventRecord["headers"], where: string): number | undefined {
  const text = headers?.[SCHEMA_VERSION_HEADER];
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw new BusError(
      "SCHEMA_VIOLATION",
      `${where}: the header ${SCHEMA_VERSION_HEADER} is not a version: ${JSON.stringify(text.slice(0, 40))}`,
    );
  }
  return Number(text);
}

/** The version that an event says it was written in, if there is such a version. For counts: it never throws. */
export function knownVersion(
  { topic, headers }: Pick<EventRecord, "topic" | "headers">,
  schemas: SchemaSource,
): number | undefined {
  const source = schemaTopic(topic, schemas);
  const version = Number(headers?.[SCHEMA_VERSION_HEADER] ?? source?.version);
  return source !== undefined && schemas.get(source.topic, version) !== undefined ? version : undefined;
}
