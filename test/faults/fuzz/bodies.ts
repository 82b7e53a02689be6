/** Bodies: lines, CloudEvents, payloads, schema documents, frames. */
import type { IncomingHttpHeaders } from "node:http";
import { batchedEvents, binaryEvent, structuredEvent } from "../../../src/hub/http/cloud-events.js";
import { checkFrame, parseMessage } from "../../../src/hub/ws/frames.js";
import { jsonBody } from "../../../src/model/json.js";
import { importEvents } from "../../../src/project/transfer/import-events.js";
import { checkCompat } from "../../../src/schema/compare/compatibility.js";
import { payloadCheck } from "../../../src/schema/payload/payload-check.js";
import type { Kind } from "./fuzz.js";
import type { Noise } from "./noise.js";

const PUBLISH_CODES = [
  "INVALID_TOPIC",
  "INVALID_OPTION",
  "INVALID_PAYLOAD",
  "PAYLOAD_TOO_LARGE",
  "ID_CONFLICT",
  "BAD_REQUEST",
];

const someEvent = (noise: Noise): Record<string, unknown> => ({
  topic: noise.chance(0.8) ? noise.pick(["a", "b.c"]) : noise.json(1),
  payload: noise.json(3),
  ...(noise.chance(0.5) && { key: noise.chance(0.7) ? noise.text() : noise.json(1) }),
  ...(noise.chance(0.3) && { id: noise.chance(0.7) ? noise.text() : noise.json(1) }),
  ...(noise.chance(0.2) && { headers: noise.json(2) }),
  ...(noise.chance(0.2) && { ts: noise.json(1) }),
  ...(noise.chance(0.1) && { partition: noise.json(1) }),
  ...(noise.chance(0.1) && { tags: noise.json(2) }),
});

export const lines: Kind = {
  name: "NDJSON",
  codes: PUBLISH_CODES,
  make: (noise) => {
    const text = noise
      .many(4, () => JSON.stringify(someEvent(noise)))
      .map((line) => (noise.chance(0.2) ? noise.torn(line) : line))
      .join(noise.pick(["\n", "\r\n", "\n\n"]));
    const bytes = noise.chance(0.1) ? Buffer.concat([Buffer.from(text), noise.bytes(20)]) : Buffer.from(text);
    const at = noise.below(bytes.length + 1);
    return [bytes.subarray(0, at), bytes.subarray(at)];
  },
  run: async (input, { bus }) => {
    const pieces = input as Buffer[];
    await importEvents(bus, pieces, { maxLineBytes: 4_000 });
  },
};

const someCloudEvent = (noise: Noise): Record<string, unknown> => ({
  ...{
    specversion: "1.0",
    id: noise.text(),
    source: "/s",
    type: noise.pick(["a", "b.c"]),
    data: noise.json(3),
  },
  ...(noise.chance(0.3) && noise.object(() => noise.json(1))),
  ...(noise.chance(0.2) && { specversion: noise.json(1) }),
  ...(noise.chance(0.2) && { type: noise.json(1) }),
  ...(noise.chance(0.2) && { subject: noise.json(1) }),
  ...(noise.chance(0.2) && { time: noise.chance(0.5) ? "2026-11-15T07:00:00Z" : noise.json(1) }),
  ...(noise.chance(0.1) && { data_base64: noise.json(1) }),
});

export const cloudEvents: Kind = {
  name: "CloudEvents",
  codes: PUBLISH_CODES,
  make: (noise) => {
    const form = noise.pick(["structured", "batch", "binary"]);
    const event = someCloudEvent(noise);
    const text = JSON.stringify(form === "batch" ? noise.many(3, () => someCloudEvent(noise)) : event);
    const headers = Object.fromEntries(
      Object.entries(event).map(([name, value]) => [
        `ce-${name}`,
        typeof value === "string" ? value : JSON.stringify(value),
      ]),
    );
    const type = noise.pick([
      "application/json",
      "text/plain",
      "application/octet-stream",
      "",
      "application/x+json",
    ]);
    return {
      form,
      text: noise.chance(0.2) ? noise.torn(text) : text,
      headers: { ...headers, "content-type": type },
    };
  },
  run: async (input, { bus }) => {
    const { form, text, headers } = input as { form: string; text: string; headers: IncomingHttpHeaders };
    const items =
      form === "batch"
        ? batchedEvents(text, undefined)
        : form === "structured"
          ? [structuredEvent(text, undefined)]
          : [binaryEvent(headers, Buffer.from(text), undefined)];
    for (const { topic, item } of items) {
      const { payload, ...options } = item;
      await bus.publish(topic, payload, options);
    }
  },
};

/** What is stored comes back as it was, awkward keys included. */
export const payloads: Kind = {
  name: "payloads",
  codes: ["INVALID_PAYLOAD", "PAYLOAD_TOO_LARGE"],
  make: (noise) => noise.json(7),
  run: (input) => {
    const body = jsonBody(input, { maxPayloadBytes: 20_000, maxPayloadDepth: 6 });
    const [given, kept] = [JSON.stringify(input), JSON.stringify(body.value)];
    if (given !== kept) throw new Error(`${given} became ${kept}`);
  },
};

const KEYWORDS = [
  ...[
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "anyOf",
    "allOf",
    "oneOf",
    "not",
    "$ref",
    "pattern",
  ],
  ...[
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "additionalProperties",
    "patternProperties",
    "format",
    "$defs",
  ],
  ...[
    "prefixItems",
    "uniqueItems",
    "multipleOf",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "dependentRequired",
  ],
];

function someSchema(noise: Noise, depth = 3): unknown {
  if (depth <= 0 || noise.chance(0.15))
    return noise.pick([true, false, {}, { type: "string" }, { type: "number" }]);
  const schema: Record<string, unknown> = {};
  for (const keyword of noise.many(3, () => noise.pick(KEYWORDS)))
    schema[keyword] = keywordValue(noise, keyword, depth);
  return schema;
}

function keywordValue(noise: Noise, keyword: string, depth: number): unknown {
  const child = (): unknown => someSchema(noise, depth - 1);
  if (noise.chance(0.1)) return noise.json(2);
  switch (keyword) {
    case "type":
      return noise.pick([
        "string",
        "number",
        "object",
        "array",
        "integer",
        "null",
        ["string", "null"],
        "strnig",
      ]);
    case "properties":
    case "patternProperties":
    case "$defs":
      return Object.fromEntries(
        noise.many(3, () => [noise.pick(["a", "b", "^x", "__proto__x", "("]), child()]),
      );
    case "required":
      return noise.many(2, () => noise.pick(["a", "b", "constructor"]));
    case "enum":
      return noise.many(3, () => noise.json(1));
    case "anyOf":
    case "allOf":
    case "oneOf":
    case "prefixItems":
      return [child(), ...noise.many(1, child)];
    case "$ref":
      return noise.pick([
        "#",
        "#/$defs/a",
        "#/$defs/b",
        "#/nowhere",
        "http://127.0.0.1:1/x",
        "#/properties/a",
      ]);
    case "pattern":
      return noise.pick(["^a+$", "(a+)+$", "[", "\\p{L}", "^(?!x)", "(a|a)*b", ".{0,9}"]);
    case "format":
      return noise.pick(["date-time", "email", "uuid", "nonsense"]);
    case "minimum":
    case "maximum":
    case "multipleOf":
    case "minLength":
    case "maxLength":
      return noise.pick([0, 1, -1, 0.1, 1e308, 5]);
    case "additionalProperties":
      return noise.chance(0.5) ? noise.chance(0.5) : child();
    default:
      return child();
  }
}

export const schemas: Kind = {
  name: "schema documents",
  codes: ["INVALID_OPTION", "UNSUPPORTED"],
  make: (noise) => ({
    older: noise.chance(0.9) ? someSchema(noise) : noise.json(3),
    newer: someSchema(noise),
    payload: noise.json(2),
  }),
  run: (input) => {
    const { older, newer, payload } = input as { older: never; newer: never; payload: unknown };
    checkCompat(older, newer, "full");
    payloadCheck(newer)(payload);
  },
};

export const frames: Kind = {
  name: "frames",
  codes: [],
  make: (noise) => {
    const frame = {
      type: noise.pick([
        "AUTH",
        "PUBLISH",
        "PUBLISH_MANY",
        "SUBSCRIBE",
        "ACK",
        "NACK",
        "MODACK",
        "PAUSE",
        "PING",
        "EVENT",
        "EVENTS",
        "x",
      ]),
      ...(noise.json(2) as object),
      ...noise.object(() => noise.json(2)),
    };
    const text = JSON.stringify(noise.chance(0.2) ? noise.many(3, () => frame) : frame);
    return noise.chance(0.3) ? noise.torn(text) : text;
  },
  run: (input) => {
    for (const frame of parseMessage(input as string) ?? []) checkFrame(frame);
  },
};
