/** AsyncAPI 3.0 of a hub: the WebSocket with its frames, and a channel for each topic. Pure. */
import type { SchemaEntry } from "../../ports/registry.js";
import { MAX_ACKED, MAX_EXTEND_MS, MAX_MANY, MAX_PLACED, MAX_TAKES } from "../protocol.js";

export interface AsyncApiInput {
  readonly title: string;
  /** host:port, as the caller sees it. */
  readonly host: string;
  readonly topics: readonly { readonly name: string; readonly publish: boolean; readonly read: boolean }[];
  readonly schemas: readonly SchemaEntry[];
}

type Json = Record<string, unknown>;

const text = { type: "string" };
const whole = { type: "integer" };
const corr = { type: ["string", "number"], description: "Comes back in the answer" };
const ids = {
  type: "array",
  items: text,
  minItems: 1,
  maxItems: MAX_ACKED,
  description: "Instead of id",
};
const leases = {
  type: "array",
  items: { type: "array", items: { type: "integer", minimum: 1 }, minItems: 2, maxItems: 2 },
  minItems: 1,
  maxItems: MAX_ACKED,
  description: "Instead of id, for events that came in runs: first and last lease of each range",
};
const byNumber = { type: "integer", minimum: 1, description: "Instead of id, for events that came in runs" };
const lease = { topic: text, group: text, id: text, attempt: whole, epoch: whole, corr };
const takes = {
  type: "array",
  items: text,
  maxItems: MAX_TAKES,
  description: "What the client takes beyond the first version of the protocol",
};
const delivering = {
  topic: text,
  group: text,
  subscription: { ...text, description: "The pattern that was subscribed to, if it was one" },
  ctx: {
    type: "object",
    properties: {
      attempt: whole,
      try: { ...whole, description: "Which of max_attempts this is, where that is not attempt" },
      max_attempts: whole,
      epoch: whole,
      ack_deadline_ms: { type: "number" },
    },
    required: ["attempt", "max_attempts", "epoch", "ack_deadline_ms"],
  },
};

/** What a publish says of its event. */
const published = {
  payload: {},
  key: text,
  id: text,
  headers: { type: "object", additionalProperties: text },
  tags: { type: "array", items: text },
  caused_by: { type: "array", items: text },
  ts: { type: "number" },
  sid: text,
  partition: whole,
};

/** Each frame's members, and those it must have. */
const FRAMES: Readonly<Record<string, { by: "client" | "hub"; properties: Json; required: string[] }>> = {
  AUTH: { by: "client", properties: { token: text, takes, corr }, required: ["token"] },
  PUBLISH: {
    by: "client",
    properties: { topic: text, ...published, corr },
    required: ["topic", "payload"],
  },
  PUBLISH_MANY: {
    by: "client",
    properties: {
      topic: text,
      events: {
        type: "array",
        items: { type: "object", properties: published, required: ["payload"] },
        minItems: 1,
        maxItems: MAX_MANY,
      },
      corr,
    },
    required: ["topic", "events"],
  },
  SUBSCRIBE: {
    by: "client",
    properties: { topic: text, group: text, opts: { type: "object" }, corr },
    required: ["topic", "group"],
  },
  UNSUBSCRIBE: { by: "client", properties: { topic: text, group: text, corr }, required: ["topic", "group"] },
  ACK: { by: "client", properties: { ...lease, ids, leases }, required: ["topic", "group"] },
  NACK: {
    by: "client",
    properties: { ...lease, lease: byNumber, reason: text },
    required: ["topic", "group"],
  },
  MODACK: {
    by: "client",
    properties: {
      ...lease,
      lease: byNumber,
      extend_ms: { type: "number", exclusiveMinimum: 0, maximum: MAX_EXTEND_MS },
    },
    required: ["topic", "group", "extend_ms"],
  },
  PAUSE: { by: "client", properties: { topic: text, group: text, corr }, required: [] },
  RESUME: { by: "client", properties: { topic: text, group: text, corr }, required: [] },
  PING: { by: "client", properties: { takes, corr }, required: [] },
  OK: { by: "hub", properties: { corr, result: {} }, required: [] },
  PLACED: {
    by: "hub",
    properties: {
      topic: text,
      partition: whole,
      seq: { ...whole, description: "Of the first; each of the others has the next" },
      corrs: { type: "array", items: { type: "number" }, minItems: 1, maxItems: MAX_PLACED },
    },
    required: ["topic", "partition", "seq", "corrs"],
  },
  ERR: {
    by: "hub",
    properties: {
      code: text,
      msg: text,
      corr,
      retry_after_ms: { type: "number" },
      failed: {
        type: "array",
        items: { type: "object", properties: { index: whole, code: text }, required: ["index", "code"] },
        description: "PUBLISH_MANY: the others are in the log. Absent if none of them is",
      },
    },
    required: ["code", "msg"],
  },
  EVENT: {
    by: "hub",
    properties: { ...delivering, event: { $ref: "#/components/schemas/EventRecord" } },
    required: ["topic", "group", "event", "ctx"],
  },
  EVENTS: {
    by: "hub",
    properties: {
      ...delivering,
      lease: { type: "integer", description: "Of the first event; each of the others has the next number" },
      partition: whole,
      ts: { type: "number", description: "Of the first event" },
      later: { type: "array", items: { type: "number" }, description: "What each event's ts has above that" },
      seq: { ...whole, description: "Of the first event" },
      seqs: { type: "array", items: whole, description: "Absent if each of the others has the next" },
      ids: { type: "array", items: text },
      keys: { type: "array", items: { type: ["string", "null"] }, description: "Absent if none has a key" },
      metas: {
        type: "array",
        items: { type: ["object", "null"] },
        description: "headers, tags, caused_by and sid of each event; absent if none has any",
      },
      payloads: { type: "array" },
    },
    required: ["topic", "group", "lease", "partition", "seq", "ts", "later", "ids", "payloads", "ctx"],
  },
  PONG: { by: "hub", properties: { corr }, required: [] },
};

export function asyncApi(input: AsyncApiInput): Json {
  const newest = new Map(input.schemas.map((entry) => [entry.topic, entry]));
  return {
    asyncapi: "3.0.0",
    info: { title: input.title, version: "1.0.0" },
    defaultContentType: "application/json",
    servers: {
      hub: {
        host: input.host,
        protocol: "ws",
        security: [{ $ref: "#/components/securitySchemes/token" }],
      },
    },
    channels: {
      ws: {
        address: "/ws",
        description: "A message is one frame or an array of frames.",
        messages: Object.fromEntries(
          Object.keys(FRAMES).map((name) => [name, { $ref: `#/components/messages/${name}` }]),
        ),
      },
      ...Object.fromEntries(
        input.topics.map((topic) => [channelId(topic.name), channelOf(topic.name, newest)]),
      ),
    },
    operations: { ...frameOperations(), ...topicOperations(input) },
    components: {
      messages: Object.fromEntries(
        Object.entries(FRAMES).map(([name, frame]) => [name, frameMessage(name, frame)]),
      ),
      schemas: { EventRecord: EVENT_RECORD },
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
  };
}

const EVENT_RECORD: Json = {
  type: "object",
  required: ["id", "topic", "partition", "seq", "ts", "payload"],
  properties: {
    id: text,
    topic: text,
    partition: whole,
    seq: whole,
    ts: { type: "number" },
    key: text,
    headers: { type: "object", additionalProperties: text },
    payload: {},
    caused_by: { type: "array", items: text },
    tags: { type: "array", items: text },
    sid: text,
  },
};

function frameMessage(name: string, frame: { properties: Json; required: string[] }): Json {
  return {
    name,
    payload: {
      type: "object",
      required: ["type", ...frame.required],
      properties: { type: { const: name }, ...frame.properties },
    },
  };
}

/** Names of topics have dots, ids in the document must not. */
function channelId(topic: string): string {
  return `topic-${topic.replaceAll(".", "_")}`;
}

function channelOf(topic: string, schemas: ReadonlyMap<string, SchemaEntry>): Json {
  const { schema } = Object(schemas.get(topic)?.document) as { readonly schema?: unknown };
  const usable = typeof schema === "object" && schema !== null && !Array.isArray(schema) ? schema : {};
  return { address: topic, messages: { event: { name: topic, payload: usable } } };
}

/** From the hub's side: it receives what clients send. */
function frameOperations(): Json {
  const of = (by: "client" | "hub"): { $ref: string }[] =>
    Object.entries(FRAMES)
      .filter(([, frame]) => frame.by === by)
      .map(([name]) => ({ $ref: `#/channels/ws/messages/${name}` }));
  const channel = { $ref: "#/channels/ws" };
  return {
    receiveFrame: { action: "receive", channel, messages: of("client") },
    sendFrame: { action: "send", channel, messages: of("hub") },
  };
}

function topicOperations({ topics }: AsyncApiInput): Json {
  const operations: Json = {};
  for (const { name, publish, read } of topics) {
    const id = channelId(name);
    const operation = {
      channel: { $ref: `#/channels/${id}` },
      messages: [{ $ref: `#/channels/${id}/messages/event` }],
    };
    if (publish) operations[`publish-${id}`] = { action: "receive", ...operation };
    if (read) operations[`deliver-${id}`] = { action: "send", ...operation };
  }
  return operations;
}
