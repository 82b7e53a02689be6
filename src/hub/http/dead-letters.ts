/** Dead letters: counted, listed, redriven, discarded. */
import { z } from "@hono/zod-openapi";
import { checkTopicName } from "../../model/topic.js";
import { deadLetters, discardDeadLetters } from "../../project/letters/dead-letters.js";
import { LetterCounts } from "../../project/letters/letter-tally.js";
import { redrive } from "../../project/letters/redrive.js";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { deadLetterSources } from "../watch.js";
import { addRoute, demand, demandOpen, type HubApp, jsonText, may, readableTopic } from "./base.js";
import { letterPage } from "./letter-pages.js";
import { Count } from "./positions.js";

const Topic = z.object({ topic: z.string() });
const Choice = z.strictObject({
  group: z.string().optional(),
  key: z.string().optional(),
  errorClass: z.string().optional(),
  ids: z.array(z.string()).max(10_000).optional(),
});
const List = z.object({
  group: z.string().optional(),
  key: z.string().optional(),
  errorClass: z.string().optional(),
  status: z.enum(["open", "redriven", "discarded", "any"]).optional(),
  order: z.enum(["newest", "oldest"]).optional().openapi({
    description:
      "`newest`: by the time at which they were given up, whatever the partition. Default `oldest`: partition by partition",
  }),
  limit: Count(1_000).optional(),
  after: z.string().optional().openapi({ description: "`next` of the page before" }),
});
const tag = "dead letters";

export function deadLetterRoutes(app: HubApp, hub: HubContext): void {
  const { bus } = hub;
  const counts = new LetterCounts(bus);
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/dlq",
      tag,
      summary: "How many dead letters each topic has, and of which kinds",
      rights: "read:<topic> for each that is listed",
      answer: z.object({ items: z.array(z.looseObject({})) }),
    },
    async (c) => {
      const known = await deadLetterSources(bus);
      const readable = known.filter((topic) => may(c, "read", topic));
      const found = await counts.of(readable, known);
      return c.json({ items: [...found].map(([topic, summary]) => ({ topic, ...summary })) });
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/dlq/{topic}",
      tag,
      summary: "The dead letters of a topic",
      rights: "read:<topic>",
      params: Topic,
      query: List,
      answer: z.object({ items: z.array(z.looseObject({})), next: z.string().nullable() }),
    },
    async (c, { params, query }) => {
      const { name } = await readableTopic(c, hub, params.topic);
      const { limit = 50, after, order, ...choice } = query;
      const wanted = present({ ...choice, newestFirst: order === "newest" });
      const { items, next } = await letterPage(bus, name, wanted, {
        limit,
        signal: c.req.raw.signal,
        ...(after !== undefined && { after }),
      });
      return jsonText(c, `{"items":[${items.join(",")}],"next":${JSON.stringify(next)}}`);
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/dlq/{topic}/{id}",
      tag,
      summary: "A dead letter",
      rights: "read:<topic>",
      params: Topic.extend({ id: z.string() }),
    },
    async (c, { params }) => {
      const { name } = await readableTopic(c, hub, params.topic);
      for await (const letter of deadLetters(bus, name, { ids: [params.id], status: "any" }))
        return c.json(letter as object);
      throw new HubError("NOT_FOUND", `${name} has no dead letter ${params.id.slice(0, 200)}`);
    },
  );
  settlingRoutes(app, hub);
}

function settlingRoutes(app: HubApp, hub: HubContext): void {
  const { bus } = hub;
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/dlq/{topic}/redrive",
      tag,
      summary:
        "Publishes dead letters again, for the group that gave them up; dryRun says which, background gives a job",
      rights: "ops:redrive and read:<topic>; publish:<to> for another topic",
      params: Topic,
      body: Choice.extend({
        to: z.string().optional(),
        rate: z.number().positive().optional(),
        limit: z.number().int().positive().optional(),
        allGroups: z.boolean().optional(),
        dryRun: z.boolean().optional(),
        background: z.boolean().optional(),
      }),
    },
    async (c, { params, body }) => {
      demand(c, "ops", "redrive");
      const { name: topic } = await readableTopic(c, hub, params.topic);
      if (body.to !== undefined) {
        // A job would only fail.
        checkTopicName(body.to);
        demand(c, "publish", body.to);
      }
      const actor = c.get("caller").subject;
      const { background, ...options } = present(body);
      if (background && !body.dryRun) {
        const job = await hub.jobs.start({ kind: "redrive", target: topic, actor }, ({ signal, note }) =>
          redrive(bus, { ...options, topic, actor, signal, onProgress: note }),
        );
        return c.json({ job } as object, 202);
      }
      const signal = AbortSignal.any([c.req.raw.signal, hub.closing]);
      const done = await redrive(bus, { ...options, topic, actor, signal });
      demandOpen(
        hub,
        body.dryRun ? "not all letters were looked at" : `${done.redriven} letters were redriven`,
      );
      return c.json(done);
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/dlq/{topic}/discard",
      tag,
      summary: "Takes dead letters out of the open ones for good, with a reason",
      rights: "ops:discard and read:<topic>",
      params: Topic,
      body: Choice.extend({ reason: z.string().min(1).max(1_000) }),
    },
    async (c, { params, body }) => {
      demand(c, "ops", "discard");
      const { name } = await readableTopic(c, hub, params.topic);
      const actor = c.get("caller").subject;
      const { reason, ...choice } = body;
      return c.json({
        topic: name,
        discarded: await discardDeadLetters(bus, name, { ...present(choice), reason, actor }),
      });
    },
  );
}

/** Without the members that were left out. */
function present<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
