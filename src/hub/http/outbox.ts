/** The store's own outbox: what waits, what is dead, and what becomes of that. */
import { z } from "@hono/zod-openapi";
import type { HubContext } from "../context.js";
import { addRoute, demand, type HubApp, type HubRequest, may } from "./base.js";
import { Count } from "./positions.js";

const tag = "operations";
const Ids = z.array(z.string()).max(10_000);

export function outboxRoutes(app: HubApp, hub: HubContext): void {
  const { outbox } = hub.bus.store;
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/outbox",
      tag,
      summary: "How many entries wait, and since when; entries of one status, if it is named",
      rights: "ops:outbox; read:<topic> for each entry that is listed",
      query: z.object({
        status: z.enum(["pending", "claimed", "sent", "dead"]).optional(),
        limit: Count(1_000).optional(),
      }),
    },
    async (c, { query }) => {
      demand(c, "ops", "outbox");
      const stats = await outbox.stats();
      if (query.status === undefined) return c.json({ ...stats });
      const rows = await outbox.list({ status: query.status, limit: query.limit ?? 100 });
      return c.json({ ...stats, items: rows.filter(({ topic }) => may(c, "read", topic)) } as object);
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/outbox/requeue",
      tag,
      summary: "Dead entries (these, or all) are tried again",
      rights: "ops:outbox",
      body: z.strictObject({ ids: Ids.optional() }),
    },
    async (c, { body }) => {
      demand(c, "ops", "outbox");
      const requeued = await outbox.requeueDead(body.ids);
      await audit(c, hub, "outbox.requeue", { requeued });
      return c.json({ requeued });
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/outbox/discard",
      tag,
      summary: "Removes dead entries for good",
      rights: "ops:outbox",
      body: z.strictObject({ ids: Ids.min(1) }),
    },
    async (c, { body }) => {
      demand(c, "ops", "outbox");
      const discarded = await outbox.discardDead(body.ids);
      await audit(c, hub, "outbox.discard", { discarded });
      return c.json({ discarded });
    },
  );
}

async function audit(
  c: HubRequest,
  { bus }: HubContext,
  action: string,
  details: Record<string, number>,
): Promise<void> {
  const actor = c.get("caller").subject;
  await bus.store.registry.audit({ atMs: bus.clock.now(), actor, action, target: "outbox", details });
}
