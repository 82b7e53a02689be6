/** For those who run it: tasks, the audit, and everything at a glance. */
import { z } from "@hono/zod-openapi";
import { mayBeBehind } from "../../project/history/expected-lag.js";
import type { HubContext } from "../context.js";
import { addRoute, demand, type HubApp } from "./base.js";
import { sums } from "./groups.js";
import { Count } from "./positions.js";
import { storedOf } from "./topics.js";

const tag = "operations";
const TOP_GROUPS = 10;

export function operationRoutes(app: HubApp, hub: HubContext): void {
  const { bus } = hub;
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/whoami",
      tag,
      summary: "Who the token is for, what it allows, and until when",
      rights: "any token",
    },
    (c) => {
      const { subject, acl, expiresMs } = c.get("caller");
      const finite = Number.isFinite(expiresMs);
      const about = { name: hub.name, store: bus.store.name.split(" ")[0], open: hub.auth.open };
      return c.json({
        subject,
        rules: acl.rules,
        expiresMs: finite ? expiresMs : null,
        hub: about,
      } as object);
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/hubs",
      tag,
      summary: "The hubs on this store, and the members of its groups",
      rights: "ops:hubs",
    },
    async (c) => {
      demand(c, "ops", "hubs");
      const members = await bus.store.groups.sessions({ nowMs: bus.clock.now() });
      return c.json({ self: hub.roll.id, items: await hub.roll.list(), members });
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/tasks",
      tag,
      summary: "Projectors, drainers and other long-running parts",
      rights: "ops:tasks",
    },
    (c) => {
      demand(c, "ops", "tasks");
      return c.json({ items: bus.tasks.reports() } as object);
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/audit",
      tag,
      summary: "Who did what, newest first",
      rights: "ops:audit",
      query: z.object({ limit: Count(1_000).optional(), before: z.coerce.number().int().min(0).optional() }),
    },
    async (c, { query }) => {
      demand(c, "ops", "audit");
      const { limit = 100, before } = query;
      const items = await bus.store.registry.audits({ limit, ...(before !== undefined && { before }) });
      const next = items.length === limit ? (items.at(-1)?.number ?? null) : null;
      return c.json({ items, next } as object);
    },
  );
  addRoute(
    app,
    hub,
    { method: "get", path: "/overview", tag, summary: "Everything at a glance", rights: "ops:overview" },
    async (c) => {
      demand(c, "ops", "overview");
      return c.json(await overview(hub));
    },
  );
}

async function overview(hub: HubContext): Promise<object> {
  const { bus, live } = hub;
  const nowMs = bus.clock.now();
  const seconds = Math.max(0.001, (nowMs - hub.startedMs) / 1_000);
  const groups = await bus.admin.lag();
  const topics = await bus.topics();
  const stored = [...(await storedOf(hub, topics)).values()];
  const rates = Object.entries(live.counts).map(
    ([name, count]) => [name, Math.round((count / seconds) * 1_000) / 1_000] as const,
  );
  return {
    name: hub.name,
    store: bus.store.name,
    startedMs: hub.startedMs,
    nowMs,
    uptimeSeconds: Math.round(seconds),
    connections: hub.connections(),
    counters: live.counts,
    ratesPerSecond: Object.fromEntries(rates),
    topics: topics.length,
    events: stored.reduce((sum, { events }) => sum + events, 0),
    bytes: stored.reduce((sum, { bytes }) => sum + bytes, 0),
    groups: groups.length,
    ...sums(groups),
    lagging: [...groups]
      .filter((group) => group.lag > 0 && !mayBeBehind(group))
      .sort((a, b) => b.lag - a.lag)
      .slice(0, TOP_GROUPS)
      .map(({ topic, group, lag, lagSeconds, members }) => ({ topic, group, lag, lagSeconds, members })),
    deadLetters: await hub.watch.letters(),
    tasks: bus.tasks.reports(),
  };
}
