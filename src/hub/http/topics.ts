/** What there is: topics, partitions, the newest event of a key, schemas. */
import { z } from "@hono/zod-openapi";
import { BusError } from "../../model/errors.js";
import type { TopicConfig } from "../../model/topic.js";
import type { PartitionHead } from "../../ports/log.js";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { addRoute, demand, demandFor, type HubApp, may, readableTopic } from "./base.js";

const MAX_KEYS = 1_000;

const TopicQuery = z.object({ topic: z.string() });
const Items = z.object({ items: z.array(z.looseObject({})) });

export function topicRoutes(app: HubApp, hub: HubContext): void {
  const { bus } = hub;
  const tag = "topics";
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/topics",
      tag,
      summary: "The topics one may read",
      rights: "read:<topic> for each that is listed",
      answer: Items,
    },
    async (c) => {
      const topics = (await bus.topics()).filter(({ name }) => may(c, "read", name));
      const stored = await storedOf(hub, topics);
      return c.json({ items: topics.map((topic) => ({ ...topic, ...stored.get(topic.name) })) });
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/topics/{topic}",
      tag,
      summary: "A topic: its settings, partitions and groups",
      rights: "read:<topic>",
      params: z.object({ topic: z.string() }),
    },
    async (c, { params }) => {
      const config = await readableTopic(c, hub, params.topic);
      const partitions = await bus.store.log.heads(config.name);
      const groups = await bus.admin.lag({ topic: config.name });
      return c.json({
        name: config.name,
        config,
        ...totals(partitions),
        partitions,
        groups: groups.map(({ group, lag, lagSeconds, members, resting }) => ({
          group,
          lag,
          lagSeconds,
          members,
          resting,
        })),
      });
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/topics/{topic}/remove",
      tag,
      summary:
        "Removes a topic and all that belongs to it; dryRun says what that would mean, background gives a job",
      rights: "ops:remove, read:<topic> and group:<group> for each of its groups if groups are named",
      params: z.object({ topic: z.string() }),
      body: z.strictObject({ dryRun: z.boolean().optional(), background: z.boolean().optional() }),
    },
    async (c, { params, body }) => {
      demand(c, "ops", "remove");
      const { name } = await readableTopic(c, hub, params.topic);
      const preview = await bus.admin.removeTopic(name, { dryRun: true });
      for (const group of preview.groups) demandFor(c, "remove", group);
      if (body.dryRun) return c.json(preview);
      const actor = c.get("caller").subject;
      if (!body.background) return c.json(await bus.admin.removeTopic(name, { actor, signal: hub.closing }));
      // A job would only fail.
      if (preview.obstacles !== undefined)
        throw new BusError("WRITE_CONFLICT", preview.obstacles.join("; "), { retryable: false });
      const job = await hub.jobs.start({ kind: "remove", target: name, actor }, ({ signal, note }) =>
        bus.admin.removeTopic(name, { actor, signal, onProgress: note }),
      );
      return c.json({ job } as object, 202);
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/partitions",
      tag,
      summary: "The partitions of a topic",
      rights: "read:<topic>",
      query: TopicQuery,
      answer: Items,
    },
    async (c, { query }) => {
      const { name } = await readableTopic(c, hub, query.topic);
      return c.json({ topic: name, items: await bus.store.log.heads(name) });
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/latest-by-key",
      tag,
      summary: "The newest event of each key; null for keys that have none",
      rights: "read:<topic>",
      query: TopicQuery.extend({
        keys: z.string().optional().openapi({ description: "Keys joined by commas" }),
        key: z
          .union([z.string(), z.array(z.string())])
          .optional()
          .openapi({ description: "A key as it is; may be given several times" }),
      }),
    },
    async (c, { query }) => {
      const { name } = await readableTopic(c, hub, query.topic);
      const keys = [...(query.keys === undefined ? [] : query.keys.split(",")), ...[query.key ?? []].flat()];
      if (keys.length === 0 || keys.length > MAX_KEYS)
        throw new HubError("BAD_REQUEST", `give 1 to ${MAX_KEYS} keys: keys=a,b or key=a&key=b`);
      const found = await bus.latestByKey(name, keys);
      return c.json({
        topic: name,
        events: Object.fromEntries(keys.map((key) => [key, found[key] ?? null])),
      } as object);
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/schemas",
      tag,
      summary: "The registered schemas, every version",
      rights: "read:<topic> for each that is listed",
      query: z.object({ topic: z.string().optional() }),
      answer: Items,
    },
    async (c, { query }) => {
      if (query.topic !== undefined) await readableTopic(c, hub, query.topic);
      const schemas = await bus.store.registry.schemas(query.topic);
      return c.json({ items: schemas.filter(({ topic }) => may(c, "read", topic)) } as object);
    },
  );
}

/** What is stored of these topics, by name. */
export async function storedOf(
  { bus }: HubContext,
  topics: readonly TopicConfig[],
): Promise<ReadonlyMap<string, Totals>> {
  const heads = await bus.store.log.headsOf(topics.map(({ name }) => name));
  return new Map([...heads].map(([name, ofTopic]) => [name, totals(ofTopic)]));
}

interface Totals {
  readonly events: number;
  readonly bytes: number;
}

function totals(heads: readonly PartitionHead[]): Totals {
  return {
    events: heads.reduce((sum, head) => sum + head.events, 0),
    bytes: heads.reduce((sum, head) => sum + head.bytes, 0),
  };
}
