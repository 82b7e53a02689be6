/** Is it there, is it ready, and what does it measure. */
import { z } from "@hono/zod-openapi";
import type { HubContext } from "../context.js";
import { addRoute, demand, type HubApp } from "./base.js";

const Status = z.object({ status: z.string() });
const tag = "operations";

export function healthRoutes(app: HubApp, hub: HubContext): void {
  addRoute(
    app,
    hub,
    { method: "get", path: "/healthz", tag, summary: "The hub is there", answer: Status, openQuery: true },
    (c) => c.json({ status: "ok" }),
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/readyz",
      tag,
      summary: "The hub takes requests; 503 if not",
      answer: Status,
      openQuery: true,
    },
    async (c) => {
      if (!hub.accepting()) return c.json({ status: "going down" }, 503);
      try {
        await hub.bus.store.registry.topics();
        return c.json({ status: "ready" });
      } catch {
        return c.json({ status: "store unavailable" }, 503);
      }
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/metrics",
      tag,
      summary: "What it measures, for Prometheus",
      rights: "ops:metrics",
      answer: z.string(),
      contentType: "text/plain",
    },
    async (c) => {
      demand(c, "ops", "metrics");
      const metrics = await hub.metrics();
      return c.body(await metrics.text(), 200, { "Content-Type": metrics.contentType });
    },
  );
}
