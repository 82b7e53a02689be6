/** Single events and pages of them, for people who look into a topic. */
import { z } from "@hono/zod-openapi";
import type { StoredEvent } from "../../model/event.js";
import type { PartitionHead } from "../../ports/log.js";
import { floorsAt } from "../../project/topic-position.js";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { addRoute, type HubApp, type HubRequest, jsonText, may, readableTopic } from "./base.js";
import { type BrowsePage, browseLog, type Order, type Stretch } from "./browse-log.js";
import { Count, checkPartition, Partition, parsePosition } from "./positions.js";

const DEFAULT_LIMIT = 50;
const DEFAULT_SCAN = 10_000;
const HEADER = "header.";
const tag = "events";

const Browse = z.object({
  order: z.enum(["newest", "oldest"]).optional().openapi({ description: "Default newest" }),
  from: z.string().optional().openapi({ description: "Nothing before this place; default earliest" }),
  until: z.string().optional().openapi({ description: "Only what stands before this place" }),
  partition: Partition.optional(),
  key: z.string().optional(),
  tag: z.string().optional(),
  text: z.string().max(1_000).optional().openapi({ description: "Part of the event's JSON, in any case" }),
  limit: Count(500).optional(),
  scan: Count(100_000).optional().openapi({ description: "Events looked at for one page; default 10,000" }),
  after: z.string().optional().openapi({ description: "`next` of the page before" }),
});
type BrowseQuery = z.output<typeof Browse>;

const PageAnswer = z.object({
  items: z.array(z.looseObject({})),
  next: z.string().nullable(),
  scanned: z.number(),
});

const History = z.object({
  order: z.enum(["newest", "oldest"]).optional(),
  limit: Count(1_000).optional(),
  before: Count(Number.MAX_SAFE_INTEGER).optional().openapi({ description: "Only seqs below this" }),
  after: z.coerce.number().int().min(0).optional().openapi({ description: "Only seqs above this" }),
});
const HistoryAnswer = z.object({ items: z.array(z.looseObject({})) });

export function browseRoutes(app: HubApp, hub: HubContext): void {
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/topics/{topic}/events",
      tag,
      summary: "Events of a topic by time, key, header (header.<name>=<value>) or text, from either end",
      rights: "read:<topic>",
      params: z.object({ topic: z.string() }),
      query: Browse,
      openQuery: true,
      answer: PageAnswer,
    },
    async (c, { params, query }) => {
      const { name } = await readableTopic(c, hub, params.topic);
      return answer(c, name, query.order ?? "newest", await browse(c, hub, name, query));
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/topics/{topic}/keys/{key}",
      tag,
      summary: "The events of a key",
      rights: "read:<topic>",
      params: z.object({ topic: z.string(), key: z.string() }),
      query: History,
      answer: HistoryAnswer,
    },
    (c, { params, query }) => keyHistory(c, hub, params, query),
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/topics/{topic}/keys",
      tag,
      summary: "The same, of any key: no path holds one that is empty or nothing but dots",
      rights: "read:<topic>",
      params: z.object({ topic: z.string() }),
      query: History.extend({ key: z.string() }),
      answer: HistoryAnswer,
    },
    (c, { params, query: { key, ...query } }) => keyHistory(c, hub, { ...params, key }, query),
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/events/{id}",
      tag,
      summary: "The event under an id",
      rights: "read:<topic>; 404 where that is lacking",
      params: z.object({ id: z.string() }),
    },
    async (c, { params }) => jsonText(c, (await readableEvent(c, hub, params.id)).json),
  );
}

async function keyHistory(
  c: HubRequest,
  hub: HubContext,
  { topic, key }: { readonly topic: string; readonly key: string },
  { order = "newest", limit = DEFAULT_LIMIT, before, after }: z.output<typeof History>,
): Promise<Response> {
  const { name } = await readableTopic(c, hub, topic);
  if (order === "newest" && after !== undefined)
    throw new HubError("BAD_REQUEST", "after goes with order=oldest");
  const events = await hub.bus.store.log.history(name, key, {
    limit,
    ...(before !== undefined && { through: before - 1 }),
    ...(after !== undefined && { after }),
    ...(order === "newest" && { newestFirst: true }),
  });
  return jsonText(
    c,
    `{"topic":${JSON.stringify(name)},"items":[${events.map(({ json }) => json).join(",")}]}`,
  );
}

/** Whoever may not read its topic is not told that it is there. */
export async function readableEvent(c: HubRequest, hub: HubContext, id: string): Promise<StoredEvent> {
  const event = await hub.bus.store.log.find(id);
  if (event !== null && may(c, "read", event.topic)) return event;
  throw new HubError("NOT_FOUND", `there is no event ${id.slice(0, 200)}`);
}

async function browse(
  c: HubRequest,
  hub: HubContext,
  topic: string,
  query: BrowseQuery,
): Promise<BrowsePage> {
  const { order = "newest", limit = DEFAULT_LIMIT, scan = DEFAULT_SCAN, after } = query;
  const stretches =
    after === undefined
      ? await stretchesOf(hub, topic, query)
      : within(await hub.bus.store.log.heads(topic), decodeRest(after, topic, order));
  return browseLog(hub.bus.store.log, {
    topic,
    order,
    stretches,
    limit,
    maxScan: scan,
    matches: matcher(query),
    signal: c.req.raw.signal,
  });
}

async function stretchesOf(hub: HubContext, topic: string, query: BrowseQuery): Promise<Stretch[]> {
  const { log } = hub.bus.store;
  const { partition, from, until } = query;
  const heads = await log.heads(topic);
  if (partition !== undefined) checkPartition(topic, partition, heads.length);
  const lower = await floorsAt(log, topic, parsePosition(from ?? "earliest"));
  const upper = until === undefined ? undefined : await floorsAt(log, topic, parsePosition(until));
  return heads
    .map((head) => ({
      partition: head.partition,
      after: Math.max(head.low - 1, lower[head.partition] ?? 0),
      before: (upper?.[head.partition] ?? head.head) + 1,
    }))
    .filter((stretch) => partition === undefined || stretch.partition === partition);
}

function matcher(query: BrowseQuery): (event: StoredEvent) => boolean {
  const { key, tag: wantedTag, text } = query;
  const headers = headerFilters(query);
  const part = text?.toLowerCase();
  return (event) =>
    (key === undefined || event.key === key) &&
    (wantedTag === undefined || (event.meta?.tags?.includes(wantedTag) ?? false)) &&
    headers.every(([name, value]) => event.meta?.headers?.[name] === value) &&
    (part === undefined || event.json.toLowerCase().includes(part));
}

function headerFilters(query: Readonly<Record<string, unknown>>): (readonly [string, string])[] {
  return Object.entries(query).flatMap(([name, value]) => {
    if (Object.hasOwn(Browse.shape, name)) return [];
    if (!name.startsWith(HEADER) || typeof value !== "string")
      throw new HubError(
        "BAD_REQUEST",
        `"${name.slice(0, 80)}" is no filter: write header.<name>=<value>, once`,
      );
    return [[name.slice(HEADER.length), value] as const];
  });
}

function answer(c: HubRequest, topic: string, order: Order, page: BrowsePage): Response {
  const next = page.rest === null ? null : encodeRest(topic, order, page.rest);
  const items = page.events.map(({ json: text }) => text).join(",");
  return jsonText(c, `{"items":[${items}],"next":${JSON.stringify(next)},"scanned":${page.scanned}}`);
}

function encodeRest(topic: string, order: Order, rest: readonly Stretch[]): string {
  const flat = rest.map(({ partition, after, before }) => [partition, after, before]);
  return Buffer.from(JSON.stringify([topic, order, ...flat])).toString("base64url");
}

/** Anybody can write such a cursor: it leads no further than there is something. */
function within(heads: readonly PartitionHead[], stretches: readonly Stretch[]): Stretch[] {
  if (new Set(stretches.map(({ partition }) => partition)).size < stretches.length) throw notOurs();
  return stretches.map(({ partition, after, before }) => {
    const head = heads[partition];
    if (head === undefined) throw notOurs();
    return { partition, after: Math.max(after, head.low - 1), before: Math.min(before, head.head + 1) };
  });
}

function decodeRest(cursor: string, topic: string, order: Order): Stretch[] {
  try {
    const [ofTopic, ofOrder, ...flat] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as [
      string,
      string,
      ...[number, number, number][],
    ];
    const whole = flat.every(
      (part) => part.length === 3 && part.every((n) => Number.isSafeInteger(n) && n >= 0),
    );
    if (ofTopic === topic && ofOrder === order && whole)
      return flat.map(([partition, after, before]) => ({ partition, after, before }));
  } catch {
    // Not one of ours.
  }
  throw notOurs();
}

function notOurs(): HubError {
  return new HubError("BAD_REQUEST", "after is the `next` of the page before, in the same order");
}
