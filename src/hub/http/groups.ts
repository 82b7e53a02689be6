/** Groups: how far they are, what holds them up, whether anything is missing, and moving them. */
import { z } from "@hono/zod-openapi";
import type { GroupLag, WhyReport } from "../../bus/admin.js";
import { mapInTurns } from "../../model/map-in-turns.js";
import { mayBeBehind } from "../../project/history/expected-lag.js";
import { verifyGroup } from "../../project/history/verify.js";
import { replay } from "../../project/transfer/replay.js";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { addRoute, demandFor, type HubApp, type HubRequest, may, readableTopic } from "./base.js";
import { DrainEstimator } from "./drain.js";
import { PositionBody, positionOf } from "./positions.js";

const Filter = z.object({ topic: z.string().optional(), group: z.string().optional() });
const Group = z.object({ group: z.string() });
const OneTopic = z.object({ topic: z.string().optional() });
const Items = z.object({ items: z.array(z.looseObject({})) });
const READ = "read:<topic>";

export function groupRoutes(app: HubApp, hub: HubContext): void {
  const tag = "groups";
  const { bus } = hub;
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/groups",
      tag,
      summary: "All groups",
      rights: READ,
      query: OneTopic,
      answer: Items,
    },
    async (c, { query }) => c.json({ items: await readableLag(c, hub, query) }),
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/groups/{group}",
      tag,
      summary: "A group on all its topics",
      rights: READ,
      params: Group,
    },
    async (c, { params }) => {
      const topics = await readableLag(c, hub, params);
      if (topics.length === 0) throw noGroup(params.group);
      return c.json({ group: params.group, ...sums(topics), topics });
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/groups/{group}/why",
      tag,
      summary: "What holds a group up, in one sentence",
      rights: READ,
      params: Group,
      query: OneTopic,
    },
    async (c, { params, query }) => {
      const reports: WhyReport[] = [];
      for (const topic of await topicsOf(c, hub, params.group, query.topic)) {
        const why = await bus.admin.why({ topic, group: params.group });
        if (why !== null) reports.push(why);
      }
      if (reports.length === 0) throw noGroup(params.group);
      reports.sort((a, b) => b.lag - a.lag);
      const sentence = reports.map((report) => report.sentence).join(" ");
      return c.json({ group: params.group, sentence, items: reports });
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/groups/{group}/verify",
      tag,
      summary: "Accounts for every event of a group: settled, dead-lettered, removed, in flight or pending",
      rights: READ,
      params: Group,
      query: z.object({ topic: z.string() }),
    },
    async (c, { params, query }) => {
      const { name } = await readableTopic(c, hub, query.topic);
      return c.json(await verifyGroup(bus, name, params.group, { signal: c.req.raw.signal }));
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/groups/{group}/cursor",
      tag,
      summary: "Moves a group to another place, or says what that would mean (dryRun)",
      rights: "ops:cursor, read:<topic> and group:<group> if groups are named",
      params: Group,
      body: z.strictObject({ topic: z.string(), to: PositionBody, dryRun: z.boolean().optional() }),
    },
    async (c, { params, body }) => {
      demandFor(c, "cursor", params.group);
      const { name: topic } = await readableTopic(c, hub, body.topic);
      const moved = await replay(bus, {
        topic,
        group: params.group,
        to: positionOf(body.to),
        dryRun: body.dryRun ?? false,
        actor: c.get("caller").subject,
      });
      return c.json(moved);
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/groups/{group}/remove",
      tag,
      summary: "Forgets where a group stands on a topic, or says what that would mean (dryRun)",
      rights: "ops:cursor, read:<topic> and group:<group> if groups are named",
      params: Group,
      body: z.strictObject({ topic: z.string(), dryRun: z.boolean().optional() }),
    },
    async (c, { params, body }) => {
      demandFor(c, "cursor", params.group);
      const { name: topic } = await readableTopic(c, hub, body.topic);
      const ref = { topic, group: params.group };
      const { dryRun = false } = body;
      return c.json(await bus.admin.remove(ref, { dryRun, actor: c.get("caller").subject }));
    },
  );
  pauseRoutes(app, hub);
  cursorRoutes(app, hub);
}

function pauseRoutes(app: HubApp, hub: HubContext): void {
  for (const verb of ["pause", "resume"] as const) {
    addRoute(
      app,
      hub,
      {
        method: "post",
        path: `/groups/{group}/${verb}`,
        tag: "groups",
        summary:
          verb === "pause" ? "Hands nothing more out to a group, on any hub" : "Lets a paused group go on",
        rights: `ops:${verb}, read:<topic> and group:<group> if groups are named`,
        params: Group,
        body: z.strictObject({ topic: z.string() }),
      },
      async (c, { params, body }) => {
        demandFor(c, verb, params.group);
        const { name: topic } = await readableTopic(c, hub, body.topic);
        const ref = { topic, group: params.group };
        const changed = await hub.bus.admin[verb](ref, c.get("caller").subject);
        return c.json({ ...ref, paused: verb === "pause", changed });
      },
    );
  }
}

function cursorRoutes(app: HubApp, hub: HubContext): void {
  const drain = new DrainEstimator();
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/cursors",
      tag: "groups",
      summary: "Where groups stand",
      rights: READ,
      query: Filter,
      answer: Items,
    },
    async (c, { query }) => {
      const groups = await readableLag(c, hub, query);
      const items = await mapInTurns(groups, async ({ topic, group }) => ({
        group,
        ...(await hub.bus.getCursor(topic, group)),
      }));
      return c.json({ items });
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/lag",
      tag: "groups",
      summary: "How far behind groups are, in events and in seconds, and when they will have caught up",
      rights: READ,
      query: Filter,
    },
    async (c, { query }) => {
      const groups = await readableLag(c, hub, query);
      if (query.group !== undefined && groups.length === 0) throw noGroup(query.group);
      const atMs = hub.bus.clock.now();
      const detailed = groups.map((group) => ({
        ...group,
        drainSeconds: drain.estimate(`${group.topic}\n${group.group}`, { atMs, lag: group.lag }),
      }));
      const waits = detailed.map(({ drainSeconds }) => drainSeconds);
      const known = waits.filter((wait) => wait !== null);
      return c.json({
        ...sums(groups),
        drainSeconds: known.length === waits.length ? Math.max(0, ...known) : null,
        partitions: groups.flatMap(({ topic, group, partitions }) =>
          partitions.map((partition) => ({ topic, group, ...partition })),
        ),
        groups: detailed,
      });
    },
  );
}

/** Of the topics that the caller may read; one that is named must be there. */
async function readableLag(
  c: HubRequest,
  hub: HubContext,
  filter: { readonly topic?: string | undefined; readonly group?: string | undefined },
): Promise<GroupLag[]> {
  const { topic, group } = filter;
  if (topic !== undefined) await readableTopic(c, hub, topic);
  const found = await hub.bus.admin.lag({
    ...(topic !== undefined && { topic }),
    ...(group !== undefined && { group }),
  });
  return found.filter((lag) => may(c, "read", lag.topic));
}

async function topicsOf(
  c: HubRequest,
  hub: HubContext,
  group: string,
  topic: string | undefined,
): Promise<string[]> {
  if (topic !== undefined) return [(await readableTopic(c, hub, topic)).name];
  const refs = await hub.bus.store.groups.list();
  return refs.filter((ref) => ref.group === group && may(c, "read", ref.topic)).map((ref) => ref.topic);
}

/** Of those that somebody should run. */
export function sums(all: readonly GroupLag[]): { lag: number; lagSeconds: number } {
  const groups = all.filter((group) => !mayBeBehind(group));
  return {
    lag: groups.reduce((sum, { lag }) => sum + lag, 0),
    lagSeconds: Math.max(0, ...groups.map(({ lagSeconds }) => lagSeconds)),
  };
}

function noGroup(group: string): HubError {
  return new HubError("NOT_FOUND", `there is no group ${group} here`);
}
