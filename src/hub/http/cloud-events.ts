/**
 * CloudEvents 1.0 over HTTP: structured, batched and binary. An event's identity is (source, id), so its id here is
 * derived from both, and a second delivery adds nothing (P3). Attributes are kept as headers `ce-…`.
 */
import type { IncomingHttpHeaders } from "node:http";
import { derivedId } from "../../model/derived-id.js";
import { HubError } from "../problem.js";
import { mediaType, parseJson, parseText, textOf } from "./body.js";
import { ofOne, type TopicItem } from "./publish-items.js";

export const CLOUD_EVENT = "application/cloudevents+json";
export const CLOUD_EVENT_BATCH = "application/cloudevents-batch+json";

/** What such a type begins with is a whole event, in whatever format: if it is one that is not known here, nothing else than refused. */
const WHOLE = "application/cloudevents";

const ATTRIBUTE = /^[a-z0-9]{1,40}$/;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const QUOTED = /^"(?:[^"\\]|\\.)*"$/;

type Attributes = Readonly<Record<string, unknown>>;

/** Whoever sends a whole event as the body may repeat its attributes as headers: the type decides. */
export function isBinaryCloudEvent(headers: IncomingHttpHeaders): boolean {
  return headers["ce-specversion"] !== undefined && !mediaType(headers["content-type"]).startsWith(WHOLE);
}

/** `topic`: where to; default: the event's type. */
export function structuredEvent(text: string, topic: string | undefined): TopicItem {
  return eventOf(parseText(text), topic);
}

export function batchedEvents(text: string, topic: string | undefined): TopicItem[] {
  const value = parseText(text);
  if (!Array.isArray(value)) throw new HubError("BAD_REQUEST", "a batch of CloudEvents is a JSON array");
  return value.map((event, index) => ofOne(index, () => eventOf(event, topic)));
}

/** The attributes stand in the request's headers, the data is its body. */
export function binaryEvent(
  headers: IncomingHttpHeaders,
  body: Buffer,
  topic: string | undefined,
): TopicItem {
  const attributes: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith("ce-") && typeof value === "string") attributes[name.slice(3)] = decoded(value);
  }
  const type = mediaType(headers["content-type"]);
  if (type !== "") attributes.datacontenttype = headers["content-type"];
  if (body.length === 0) return itemOf(attributes, null, topic);
  if (isJson(type)) return itemOf(attributes, parseJson(body), topic);
  if (type.startsWith("text/")) return itemOf(attributes, textOf(body), topic);
  return itemOf({ ...attributes, datacontentencoding: "base64" }, body.toString("base64"), topic);
}

function eventOf(value: unknown, topic: string | undefined): TopicItem {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new HubError("BAD_REQUEST", "a CloudEvent is a JSON object");
  const { data = null, data_base64, ...attributes } = value as Attributes;
  if (data_base64 === undefined) return itemOf(attributes, data, topic);
  if (typeof data_base64 !== "string" || data !== null)
    throw new HubError("BAD_REQUEST", "a CloudEvent has data or data_base64 (a string), not both");
  if (data_base64.length % 4 !== 0 || !BASE64.test(data_base64))
    throw new HubError("BAD_REQUEST", "the data_base64 of a CloudEvent is no base64");
  return itemOf({ ...attributes, datacontentencoding: "base64" }, data_base64, topic);
}

function itemOf(attributes: Attributes, payload: unknown, topic: string | undefined): TopicItem {
  if (attributes.specversion !== "1.0")
    throw new HubError("BAD_REQUEST", 'a CloudEvent needs specversion "1.0"');
  const source = required(attributes, "source");
  const id = derivedId("cloudevents", source, required(attributes, "id"));
  const key = attributes.partitionkey ?? attributes.subject;
  return {
    topic: topic ?? required(attributes, "type"),
    item: {
      id,
      payload,
      headers: headersOf(attributes),
      ...(key === undefined || key === null ? undefined : { key: String(key) }),
      ...(attributes.time === undefined || attributes.time === null
        ? undefined
        : { ts: timeOf(attributes.time) }),
    },
  };
}

function headersOf(attributes: Attributes): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null) continue;
    if (!ATTRIBUTE.test(name))
      throw new HubError("BAD_REQUEST", `"${name.slice(0, 40)}" is no name of a CloudEvents attribute`);
    if (typeof value === "object")
      throw new HubError("BAD_REQUEST", `the CloudEvents attribute ${name} must be a single value`);
    headers[`ce-${name}`] = String(value);
    if (name === "traceparent") headers.traceparent = String(value);
  }
  return headers;
}

function required(attributes: Attributes, name: string): string {
  const value = attributes[name];
  if (typeof value === "string" && value !== "") return value;
  throw new HubError("BAD_REQUEST", `a CloudEvent needs ${name}, a non-empty string`);
}

function timeOf(time: unknown): number {
  const ts = typeof time === "string" && RFC_3339.test(time) ? Date.parse(time.toUpperCase()) : Number.NaN;
  if (Number.isNaN(ts)) throw new HubError("BAD_REQUEST", "a CloudEvent's time is an RFC 3339 timestamp");
  return ts;
}

function isJson(type: string): boolean {
  return type === "" || type === "application/json" || type.endsWith("+json");
}

/** Values may stand in quotes, and are percent-encoded UTF-8 where they are not plain ASCII. */
function decoded(value: string): string {
  const bare = QUOTED.test(value) ? value.slice(1, -1).replaceAll(/\\(.)/g, "$1") : value;
  try {
    return decodeURIComponent(bare);
  } catch {
    return bare;
  }
}
