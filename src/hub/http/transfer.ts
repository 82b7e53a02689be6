/** Events in bulk: out as lines, in as lines, and from one topic to another. */
import { z } from "@hono/zod-openapi";
import type { EventRecord } from "../../model/event.js";
import type { JsonObject } from "../../model/json.js";
import { checkTopicName, type TopicRef } from "../../model/topic.js";
import { exportEvents } from "../../project/transfer/export-events.js";
import { type Copied, type CopyOptions, replay } from "../../project/transfer/replay.js";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import {
  addRoute,
  demand,
  demandFor,
  demandOpen,
  type HubApp,
  type HubRequest,
  readableTopic,
} from "./base.js";
import { mediaType } from "./body.js";
import {
  Count,
  checkPartition,
  Flag,
  Partition,
  PositionBody,
  parsePosition,
  parseTime,
  positionOf,
} from "./positions.js";
import { publishLines } from "./publish.js";
import { PublishDesk } from "./publish-items.js";
import { streamLife, textStream } from "./streams.js";

const tag = "transfer";
const EXPORT_LIMIT = 1_000_000_000;
/** A payload of 1 MiB, and what stands around it. */
const IMPORT_LINE_BYTES = 1_048_576 + 65_536;

export function transferRoutes(app: HubApp, hub: HubContext): void {
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/export",
      tag,
      summary: "A topic as lines of JSON, up to what is there when it begins",
      rights: "read:<topic>",
      query: z.object({
        topic: z.string(),
        from: z.string().optional(),
        until: z.string().optional().openapi({ description: "Only events before this time" }),
        partition: Partition.optional(),
        key: z.string().optional(),
        limit: Count(EXPORT_LIMIT).optional(),
      }),
      answer: z.string(),
      contentType: "application/x-ndjson",
    },
    async (c, { query }) => {
      const { name, partitions } = await readableTopic(c, hub, query.topic);
      const { key, limit, partition } = query;
      if (partition !== undefined) checkPartition(name, partition, partitions);
      const from = parsePosition(query.from ?? "earliest");
      const untilTs = query.until === undefined ? undefined : parseTime(query.until);
      const life = streamLife(hub, c.get("caller"));
      const lines = exportEvents(hub.bus, name, {
        from,
        signal: life.signal,
        ...(untilTs !== undefined && { untilTs }),
        ...(partition !== undefined && { partition }),
        ...(limit !== undefined && { limit }),
        ...(key !== undefined && { key }),
      });
      return new Response(await textStream(lines, life, c.env.outgoing), {
        headers: {
          "Content-Type": "application/x-ndjson",
          "Cache-Control": "no-store",
          "X-Content-Type-Options": "nosniff",
          "Content-Disposition": `attachment; filename="${name}.ndjson"`,
        },
      });
    },
  );
  importRoute(app, hub);
  replayRoutes(app, hub);
}

function importRoute(app: HubApp, hub: HubContext): void {
  const desk = new PublishDesk(hub);
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/import",
      tag,
      summary:
        "Lines of an export come in again; what is there already is counted, not added (application/x-ndjson)",
      rights: "ops:import and publish:<topic>",
      query: z.object({
        topic: z.string().optional(),
        keepPartitions: Flag.optional(),
        resume: z.string().min(1).max(200).optional(),
      }),
    },
    async (c, { query }) => {
      demand(c, "ops", "import");
      const type = mediaType(c.req.header("content-type"));
      if (type !== "application/x-ndjson" && type !== "application/jsonl")
        throw new HubError("UNSUPPORTED_MEDIA_TYPE", "POST /import takes application/x-ndjson");
      const { topic, keepPartitions = false, resume } = query;
      const { bus } = hub;
      const actor = c.get("caller").subject;
      const audit = (details: JsonObject): Promise<unknown> =>
        bus.store.registry.audit({
          atMs: bus.clock.now(),
          actor,
          action: "import",
          target: topic ?? "*",
          details,
        });
      const lines = publishLines(c, hub, desk, {
        maxLineBytes: IMPORT_LINE_BYTES,
        keepPartitions,
        ...(topic !== undefined && { topic }),
        ...(resume !== undefined && { resume: `${actor} ${resume}` }),
      });
      const imported = await lines.catch(async (error: HubError) => {
        const { published = 0, duplicates = 0 } = error.details as {
          published?: number;
          duplicates?: number;
        };
        // What came before it is in. A store that is away must not keep whoever asked from hearing how much that is.
        if (published > 0)
          await audit({ imported: published, duplicates, complete: false }).catch(() => undefined);
        throw error;
      });
      await audit({ ...imported });
      return c.json(imported);
    },
  );
}

const Copy = z.strictObject({
  from: z.strictObject({ topic: z.string(), position: PositionBody.optional() }),
  to: z.string(),
  filter: z
    .strictObject({
      keys: z.array(z.string()).optional(),
      tag: z.string().optional(),
      untilTs: z.number().optional(),
    })
    .optional(),
  rate: z.number().positive().optional(),
  resume: z.string().min(1).max(200).optional(),
  dryRun: z.boolean().optional(),
});
const Move = z.strictObject({
  topic: z.string(),
  group: z.string(),
  to: PositionBody,
  dryRun: z.boolean().optional(),
});

function replayRoutes(app: HubApp, hub: HubContext): void {
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/replay",
      tag,
      summary: "What a replay would do: of a group (topic, group, to) or of a topic into another (from, to)",
      rights:
        "ops:replay, read:<from> and publish:<to>; for a group ops:cursor, read:<topic> and group:<group> if groups are named",
      query: z.object({
        topic: z.string().optional(),
        group: z.string().optional(),
        from: z.string().optional(),
        position: z.string().optional(),
        to: z.string(),
      }),
    },
    async (c, { query }) => {
      const { topic, group, from, to, position } = query;
      if (topic !== undefined && group !== undefined)
        return c.json(await move(c, hub, { topic, group, to: parsePosition(to), dryRun: true }));
      if (from === undefined) throw new HubError("BAD_REQUEST", "give topic, group and to, or from and to");
      const place = parsePosition(position ?? "earliest");
      return c.json(await copy(c, hub, { from: { topic: from, position: place }, to, dryRun: true }));
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/replay",
      tag,
      summary: "Copies a topic into another, or moves a group",
      rights:
        "ops:replay, read:<from> and publish:<to>; for a group ops:cursor, read:<topic> and group:<group> if groups are named",
      body: z.union([Copy, Move]),
    },
    async (c, { body }) => {
      if ("group" in body)
        return c.json(await move(c, hub, { ...body, to: positionOf(body.to), dryRun: body.dryRun ?? false }));
      const { from, to, filter, rate, resume, dryRun = false } = body;
      const position = positionOf(from.position ?? "earliest");
      return c.json(
        await copy(c, hub, {
          from: { topic: from.topic, position },
          to,
          dryRun,
          ...(filter !== undefined && { filter: filterOf(filter) }),
          ...(rate !== undefined && { rate }),
          ...(resume !== undefined && { resume }),
        }),
      );
    },
  );
}

async function move(
  c: HubRequest,
  hub: HubContext,
  o: { topic: string; group: string; to: ReturnType<typeof parsePosition>; dryRun: boolean },
): Promise<object> {
  demandFor(c, "cursor", o.group);
  await readableTopic(c, hub, o.topic);
  return replay(hub.bus, { ...o, actor: c.get("caller").subject });
}

async function copy(
  c: HubRequest,
  hub: HubContext,
  options: CopyOptions & { from: { topic: TopicRef }; to: string },
): Promise<object> {
  demand(c, "ops", "replay");
  checkTopicName(options.to);
  demand(c, "publish", options.to);
  const { name: target } = await readableTopic(c, hub, String(options.from.topic));
  const signal = AbortSignal.any([c.req.raw.signal, hub.closing]);
  const audit = ({ floors: _, ...details }: Copied): Promise<void> =>
    hub.bus.store.registry.audit({
      atMs: hub.bus.clock.now(),
      actor: c.get("caller").subject,
      action: "replay",
      target,
      details: { ...details, to: options.to },
    });
  let sofar: Copied | undefined;
  const onProgress = (now: Copied): void => {
    sofar = now;
  };
  const copied = await replay(hub.bus, { ...options, signal, onProgress }).catch(async (error: unknown) => {
    // What was copied before stays.
    if (sofar !== undefined && !options.dryRun) await audit(sofar).catch(() => undefined);
    throw error;
  });
  if (!options.dryRun) await audit(copied);
  if (!copied.complete)
    demandOpen(hub, options.dryRun ? "not all events were looked at" : `${copied.events} events were copied`);
  return copied;
}

function filterOf(filter: NonNullable<z.output<typeof Copy>["filter"]>): (event: EventRecord) => boolean {
  const keys = filter.keys === undefined ? undefined : new Set(filter.keys);
  return (event) =>
    (keys === undefined || (event.key !== undefined && keys.has(event.key))) &&
    (filter.tag === undefined || (event.tags?.includes(filter.tag) ?? false)) &&
    (filter.untilTs === undefined || event.ts < filter.untilTs);
}
