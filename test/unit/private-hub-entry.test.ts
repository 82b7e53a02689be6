/** Commands on a store run a hub of their own, and are over soon: what only some hubs need is loaded when it is. */
import { expect, it } from "vitest";
import { loadedBy } from "../support/loaded-by.js";

it("a command on a store loads no metrics, no logger and no tracing", () => {
  const loaded = loadedBy(new URL("../../src/cli/private-hub.ts", import.meta.url));
  expect(loaded).toContain("@hono/zod-openapi");
  for (const name of ["prom-client", "pino", "@opentelemetry/api"]) expect(loaded).not.toContain(name);
});
