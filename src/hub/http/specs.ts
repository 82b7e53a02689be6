/** The interface, told to machines: OpenAPI of the routes, AsyncAPI of the topics and the WebSocket. */
import type { HubContext } from "../context.js";
import { asyncApi } from "./async-api.js";
import { addRoute, type HubApp, may } from "./base.js";

const API_VERSION = "1.0.0";

export function specRoutes(app: HubApp, hub: HubContext): void {
  const tag = "interface";
  addRoute(app, hub, { method: "get", path: "/openapi.json", tag, summary: "This document" }, (c) =>
    c.json(openApi()),
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/asyncapi.json",
      tag,
      summary: "The topics one may use and the WebSocket, as AsyncAPI 3.0",
      rights: "read:<topic> or publish:<topic> for each that is told of",
    },
    async (c) => {
      const topics = (await hub.bus.topics()).map(({ name }) => ({
        name,
        publish: may(c, "publish", name),
        read: may(c, "read", name),
      }));
      const schemas = await hub.bus.store.registry.schemas();
      const used = topics.filter(({ publish, read }) => publish || read);
      return c.json(
        asyncApi({ title: hub.name, host: c.req.header("host") ?? "localhost", topics: used, schemas }),
      );
    },
  );
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    description: "A JWT or a fixed token, with scopes such as publish:orders.*, read:orders.** and ops:*.",
  });
  let made: object | undefined;
  // Made when somebody asks: it takes longer than anything else that a hub does to start.
  const openApi = (): object => {
    made ??= app.getOpenAPI31Document({
      openapi: "3.1.0",
      info: {
        title: `${hub.name} hub`,
        version: API_VERSION,
        description: "Events over HTTP. Errors are problem+json (RFC 9457) with a stable `code`.",
      },
      // From where the document lies: a proxy may have put the hub below a path.
      servers: [{ url: "." }],
    });
    return made;
  };
}
