/** The HTTP side of the hub: who calls, which route, and errors as problem+json. Routes stand in files of their own. */
import type { RequestListener } from "node:http";
import { getRequestListener, RequestError } from "@hono/node-server";
import { OpenAPIHono } from "@hono/zod-openapi";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { bearer, problemAnswer } from "./answers.js";
import { backupRoute } from "./backup.js";
import type { HubApp, HubEnv, HubRequest } from "./base.js";
import { browseRoutes } from "./browse.js";
import { consoleRoutes, isConsolePath } from "./console.js";
import { deadLetterRoutes } from "./dead-letters.js";
import { eventRoutes } from "./events.js";
import { groupRoutes } from "./groups.js";
import { healthRoutes } from "./health.js";
import { jobRoutes } from "./jobs.js";
import { operationRoutes } from "./operations.js";
import { outboxRoutes } from "./outbox.js";
import { publishRoutes } from "./publish.js";
import type { PublishDesk } from "./publish-items.js";
import { quickPublish } from "./quick-publish.js";
import { schemaStatusRoute } from "./schema-status.js";
import { schemaRoutes } from "./schemas.js";
import { specRoutes } from "./specs.js";
import { statsRoutes } from "./stats.js";
import { topicRoutes } from "./topics.js";
import { traceRoutes } from "./trace.js";
import { transferRoutes } from "./transfer.js";
import { rebuildRoutes, viewRoutes } from "./views.js";

/** Paths that need no token: they tell nothing but that the hub is there, and how it is spoken to. */
const OPEN_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/openapi.json"]);

export function createHttp(hub: HubContext, desk: PublishDesk): RequestListener {
  const app: HubApp = new OpenAPIHono<HubEnv>({
    defaultHook: (result) => {
      if (!result.success) throw new HubError("BAD_REQUEST", firstIssue(result.error));
    },
  });
  app.use(async (c, next) => {
    c.header("X-Content-Type-Options", "nosniff");
    c.header("Cache-Control", "no-store");
    if (!OPEN_PATHS.has(c.req.path) && !isConsolePath(c.req.path))
      c.set("caller", await hub.auth.authenticate(bearer(c.req.header("authorization"))));
    await next();
    // Nobody reads it: a stream would go on for ever.
    if (c.req.method === "HEAD") await c.res.body?.cancel();
  });
  app.onError((error, c) => answer(hub, c, error));
  healthRoutes(app, hub);
  publishRoutes(app, hub, desk);
  topicRoutes(app, hub);
  groupRoutes(app, hub);
  eventRoutes(app, hub);
  viewRoutes(app, hub);
  deadLetterRoutes(app, hub);
  transferRoutes(app, hub);
  browseRoutes(app, hub);
  traceRoutes(app, hub);
  schemaRoutes(app, hub);
  schemaStatusRoute(app, hub);
  rebuildRoutes(app, hub);
  jobRoutes(app, hub);
  outboxRoutes(app, hub);
  statsRoutes(app, hub);
  operationRoutes(app, hub);
  backupRoute(app, hub);
  specRoutes(app, hub);
  consoleRoutes(app);
  const methods = methodsByPath(app);
  app.notFound((c) => {
    const allowed = methods(c.req.path);
    if (allowed.length === 0)
      return answer(hub, c, new HubError("NOT_FOUND", `there is nothing at ${c.req.path}`));
    const refused = new HubError("METHOD_NOT_ALLOWED", `${c.req.path} takes ${allowed.join(", ")}`);
    const response = answer(hub, c, refused);
    response.headers.set("Allow", allowed.join(", "));
    return response;
  });
  const listener = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    // HTTP/1.0 need not name one, and checks of load balancers do not.
    hostname: "localhost",
    errorHandler: (error) => unaddressed(hub, error),
  });
  return quickPublish(hub, desk, listener);
}

/** Which methods a path has, for those who used another. */
function methodsByPath(app: HubApp): (path: string) => string[] {
  const routes = app.routes
    .filter(({ method, path }) => method !== "ALL" && !path.includes("*"))
    .map(({ method, path }) => ({ method, fits: new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+")}$`) }));
  return (path) => {
    const found = new Set(routes.filter(({ fits }) => fits.test(path)).map(({ method }) => method));
    if (found.has("GET")) found.add("HEAD");
    return [...found].sort();
  };
}

/** A host or a path of which no address can be made. */
function unaddressed(hub: HubContext, error: unknown): Response {
  const fault =
    error instanceof RequestError
      ? new HubError("BAD_REQUEST", "the host or the path is none", { cause: error })
      : error;
  const { status, headers, text } = problemAnswer(hub, "", fault);
  return new Response(text, { status, headers });
}

function answer(hub: HubContext, c: HubRequest, error: unknown): Response {
  const { status, headers, text } = problemAnswer(hub, c.req.path, error);
  return new Response(text, { status, headers });
}

function firstIssue(error: {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}): string {
  const issue = error.issues[0];
  return issue === undefined
    ? "the request is not valid"
    : `${issue.path.map(String).join(".")}: ${issue.message}`;
}
