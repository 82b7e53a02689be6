/** Where topics stand on their way to the newest version of their schema. */
import { z } from "@hono/zod-openapi";
import { schemaStatus } from "../../schema/evolution/schema-status.js";
import type { HubContext } from "../context.js";
import { addRoute, demand, type HubApp, may } from "./base.js";
import { Count } from "./positions.js";

export function schemaStatusRoute(app: HubApp, hub: HubContext): void {
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/schema-status",
      tag: "schemas",
      summary: "Where each topic stands in the evolution of its schema",
      rights: "read:<topic> for each that is listed",
      query: z.object({
        topic: z.string().optional(),
        sample: Count(10_000).optional().openapi({ description: "Newest events to count; default 1,000" }),
      }),
      answer: z.object({ items: z.array(z.looseObject({})) }),
    },
    async (c, { query: { topic, sample } }) => {
      if (topic !== undefined) demand(c, "read", topic);
      const entries = await hub.bus.store.registry.schemas(topic);
      const topics = new Set(entries.map((entry) => entry.topic));
      const readable = [...topics].filter((name) => may(c, "read", name));
      const items = await Promise.all(
        readable.map((name) =>
          schemaStatus(hub.bus, { topic: name, ...(sample !== undefined && { sample }) }),
        ),
      );
      const own = ({ topic: name }: { readonly topic: string }): boolean => may(c, "read", name);
      const shown = items.flat().map((item) => ({
        ...item,
        dualWrite: item.dualWrite.filter(own),
        readers: item.readers.filter(own),
      }));
      return c.json({ items: shown } as object);
    },
  );
}
