/** Is it there, is it ready, and what does it measure. */
import type { HubContext } from "../context.js";
import { demand, type HubApp } from "./base.js";

export function healthRoutes(app: HubApp, hub: HubContext): void {
  app.get("/healthz", (c) => c.json({ status: "ok" }));
  app.get("/readyz", async (c) => {
    if (!hub.accepting()) return c.json({ status: "going down" }, 503);
    try {
      await hub.bus.store.registry.topics();
      return c.json({ status: "ready" });
    } catch {
      return c.json({ status: "store unavailable" }, 503);
    }
  });
  app.get("/metrics", async (c) => {
    demand(c, "ops", "metrics");
    return c.body(await hub.metrics.text(), 200, { "Content-Type": hub.metrics.contentType });
  });
}
