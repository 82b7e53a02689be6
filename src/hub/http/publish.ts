/** POST /publish: one event, an array, a stream of lines, or CloudEvents. */
import { z } from "@hono/zod-openapi";
import { BusError } from "../../model/errors.js";
import type { PublishItem } from "../../model/event-bus.js";
import { type TopicRef, topicName } from "../../model/topic.js";
import type { Host } from "../../project/host.js";
import { type Imported, type ImportOptions, importEvents } from "../../project/transfer/import-events.js";
import type { Caller } from "../auth/auth.js";
import type { HubContext } from "../context.js";
import { HubError, problemOf } from "../problem.js";
import { check, document, flat, type HubApp, type HubRequest } from "./base.js";
import { bodyPieces, mediaType, readBody, textOf } from "./body.js";
import {
  batchedEvents,
  binaryEvent,
  CLOUD_EVENT,
  CLOUD_EVENT_BATCH,
  isBinaryCloudEvent,
  structuredEvent,
} from "./cloud-events.js";
import { type PublishDesk, publishAll, publishOne, publishText, traced } from "./publish-items.js";
import { streamLife } from "./streams.js";

const NDJSON: ReadonlySet<string> = new Set(["application/x-ndjson", "application/jsonl"]);

const Event = z
  .object({
    topic: z.string(),
    payload: z.unknown(),
    key: z.string().optional(),
    id: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
    tags: z.array(z.string()).optional(),
    caused_by: z.array(z.string()).optional(),
    ts: z.number().optional(),
    sid: z.string().optional(),
    partition: z.number().int().optional(),
  })
  .openapi("PublishedEvent");

const PlacedEvent = z
  .object({
    id: z.string(),
    topic: z.string(),
    partition: z.number().int(),
    seq: z.number().int(),
    ts: z.number(),
    duplicate: z.literal(true).optional(),
  })
  .openapi("Placed");

const Query = z.object({ topic: z.string().optional() });

export function publishRoutes(app: HubApp, hub: HubContext, desk: PublishDesk): void {
  document(app, {
    method: "post",
    path: "/publish",
    tag: "events",
    summary: "Publish one event, several, a stream of lines, or CloudEvents",
    rights: "publish:<topic>",
    query: Query,
    bodies: {
      "application/json": z.union([Event, z.array(Event)]),
      "application/x-ndjson": z.string(),
      [CLOUD_EVENT]: z.looseObject({}),
      [CLOUD_EVENT_BATCH]: z.array(z.looseObject({})),
    },
    answer: z.union([
      PlacedEvent,
      z.array(PlacedEvent),
      z.object({ published: z.number(), duplicates: z.number() }),
    ]),
  });
  app.post("/publish", async (c) => {
    if (!hub.accepting()) throw new HubError("CLOSED", "the hub is going down");
    return c.json(await publish(c, hub, desk));
  });
}

async function publish(c: HubRequest, hub: HubContext, desk: PublishDesk): Promise<object> {
  const { incoming } = c.env;
  const caller = c.get("caller");
  const { topic } = check(Query.strict(), flat(c.req.queries()), "query");
  const type = mediaType(incoming.headers["content-type"]);
  const headers = {
    idempotencyKey: c.req.header("idempotency-key"),
    traceparent: c.req.header("traceparent"),
  };
  if (isBinaryCloudEvent(incoming.headers)) {
    const body = await readBody(incoming, hub.limits.maxBodyBytes);
    return publishOne(desk, caller, headers, binaryEvent(incoming.headers, body, topic));
  }
  if (NDJSON.has(type)) {
    if (headers.idempotencyKey !== undefined)
      throw new HubError("BAD_REQUEST", "Idempotency-Key is for one event; give each line its own id");
    const options = {
      maxLineBytes: hub.limits.maxLineBytes,
      ...(topic !== undefined && { topic }),
    };
    const { imported, duplicates } = await publishLines(c, hub, desk, options);
    return { published: imported, duplicates };
  }
  if (type !== "application/json" && type !== CLOUD_EVENT && type !== CLOUD_EVENT_BATCH) {
    throw new HubError(
      "UNSUPPORTED_MEDIA_TYPE",
      `POST /publish takes application/json, application/x-ndjson, ${CLOUD_EVENT} and ${CLOUD_EVENT_BATCH}`,
    );
  }
  const text = textOf(await readBody(incoming, hub.limits.maxBodyBytes));
  if (type === CLOUD_EVENT) return publishOne(desk, caller, headers, structuredEvent(text, topic));
  if (type === CLOUD_EVENT_BATCH) return publishAll(desk, caller, headers, batchedEvents(text, topic));
  return publishText(desk, caller, headers, text, topic);
}

/**
 * The body as lines, in bounded memory, for as long as the caller's token lasts. What stands before a wrong line is in; the problem
 * says how many.
 */
export async function publishLines(
  c: HubRequest,
  hub: HubContext,
  desk: PublishDesk,
  options: Omit<ImportOptions, "signal">,
): Promise<Imported> {
  const life = streamLife(hub, c.get("caller"));
  let progress: Imported = { lines: 0, imported: 0, duplicates: 0, complete: false };
  const host = guarded(desk, c.get("caller"), c.req.header("traceparent"), life.signal);
  try {
    progress = await importEvents(host, bodyPieces(c.env.incoming), {
      ...options,
      signal: life.signal,
      onProgress: (now) => {
        progress = now;
      },
    });
  } catch (error) {
    throw failedLines(error, progress);
  } finally {
    life.end();
  }
  if (progress.complete) return progress;
  const details = { published: progress.imported, duplicates: progress.duplicates };
  if (hub.accepting()) throw new HubError("UNAUTHENTICATED", "the token ran out", { details });
  throw new HubError("CLOSED", "the hub is going down; send the lines again, under their ids", { details });
}

function failedLines(error: unknown, progress: Imported): HubError {
  const known = hubErrorIn(error) ?? error;
  const { code, detail } = problemOf(known);
  const details = {
    ...problemOf(error),
    ...problemOf(known),
    ...lineOf(error),
    published: progress.imported,
    duplicates: progress.duplicates,
  };
  const retryAfterMs = known instanceof HubError ? known.retryAfterMs : undefined;
  return new HubError(code, detail, {
    cause: error,
    details,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function lineOf(error: unknown): { line?: number } {
  const line = error instanceof BusError ? error.details?.line : undefined;
  return typeof line === "number" ? { line } : {};
}

/** The bus as one caller may publish to it: what comes too fast is read more slowly. */
function guarded(
  desk: PublishDesk,
  caller: Caller,
  traceparent: string | undefined,
  signal: AbortSignal,
): Host {
  const { bus } = desk;
  const admit = (topic: TopicRef, events: number): Promise<void> => {
    const name = topicName(topic);
    desk.allow(caller, name);
    return desk.takeInTime(caller, name, events, signal);
  };
  const parts: Pick<Host, "store" | "clock" | "tasks" | "publish" | "publishMany" | "subscribeBatch"> = {
    store: bus.store,
    clock: bus.clock,
    tasks: bus.tasks,
    publish: async (topic, payload, options = {}) => {
      await admit(topic, 1);
      return bus.publish(topic, payload, traced(options, traceparent));
    },
    publishMany: async <T>(topic: TopicRef<T>, items: readonly PublishItem<T>[]) => {
      await admit(topic, items.length);
      return bus.publishMany(
        topic,
        items.map((item) => traced(item, traceparent)),
      );
    },
    subscribeBatch: async () => {
      throw new HubError("FORBIDDEN", "an import reads nothing");
    },
  };
  // An import uses no more than these.
  return parts as Host;
}

/** An error of ours that others wrapped on its way. */
function hubErrorIn(error: unknown): HubError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (at instanceof HubError) return at;
  }
  return undefined;
}
