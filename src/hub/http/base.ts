/** What every route has: the caller, the question whether it may, and one way to say what it takes and gives. */
import type { HttpBindings } from "@hono/node-server";
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { checkTopicName, type TopicConfig } from "../../model/topic.js";
import type { Verb } from "../auth/acl.js";
import type { Caller } from "../auth/auth.js";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { parseJson, readBody } from "./body.js";

export interface HubEnv {
  Bindings: HttpBindings;
  Variables: { caller: Caller };
}

export type HubApp = OpenAPIHono<HubEnv>;
export type HubRequest = Context<HubEnv>;

/** Throws FORBIDDEN, in the same words whether the topic exists or not. */
export function demand(c: HubRequest, verb: Verb, resource: string): void {
  if (!may(c, verb, resource)) throw forbidden(verb, resource);
}

/** As `demand`, for what is done to a group: both the right to do it and the one to act for the group. */
export function demandFor(c: HubRequest, action: string, group: string): void {
  demand(c, "ops", action);
  demand(c, "group", group);
}

export function may(c: HubRequest, verb: Verb, resource: string): boolean {
  return c.get("caller").acl.allows(verb, resource);
}

export function forbidden(verb: Verb, resource: string): HubError {
  return new HubError("FORBIDDEN", `this token lacks ${verb}:${resource}`);
}

/** A topic that the caller may read, or FORBIDDEN, or NOT_FOUND. Never brings one into being. */
export async function readableTopic(c: HubRequest, hub: HubContext, topic: string): Promise<TopicConfig> {
  checkTopicName(topic);
  demand(c, "read", topic);
  const config = await hub.bus.store.registry.topic(topic);
  if (config === null) throw new HubError("NOT_FOUND", `there is no topic ${topic}`);
  return config;
}

/** Throws CLOSED if the hub goes down: what ended early by that must not pass for whole. `done` says how far it came. */
export function demandOpen({ accepting }: HubContext, done: string): void {
  if (!accepting()) throw new HubError("CLOSED", `the hub is going down; ${done} before that`);
}

type Fields = z.ZodObject;

export interface RouteSpec<P extends Fields, Q extends Fields, B extends z.ZodType> {
  readonly method: "get" | "post";
  /** With parameters in braces. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  /** For the document: which rights it needs. */
  readonly rights?: string;
  readonly params?: P;
  /** Unknown names are refused: a misspelt filter must not pass for none. */
  readonly query?: Q;
  /** Takes names that `query` does not list. */
  readonly openQuery?: boolean;
  readonly body?: B;
  readonly answer?: z.ZodType;
  /** Default application/json. */
  readonly contentType?: string;
}

export interface Input<P extends Fields, Q extends Fields, B extends z.ZodType> {
  readonly params: z.output<P>;
  readonly query: z.output<Q>;
  readonly body: z.output<B>;
}

const MAX_DEPTH = 200;

const Nothing = z.object({});
type None = typeof Nothing;

/** Adds a route, checks what it is given, and enters it into the OpenAPI document. */
export function addRoute<
  P extends Fields = None,
  Q extends Fields = None,
  B extends z.ZodType = z.ZodUnknown,
>(
  app: HubApp,
  hub: HubContext,
  spec: RouteSpec<P, Q, B>,
  handler: (c: HubRequest, input: Input<P, Q, B>) => Response | Promise<Response>,
): void {
  const { params = Nothing, query = Nothing, body } = spec;
  const strictQuery = spec.openQuery ? query.loose() : query.strict();
  document(app, spec);
  app.on(spec.method.toUpperCase(), spec.path.replaceAll(/\{(\w+)\}/g, ":$1"), async (c) => {
    const given = body === undefined ? undefined : await jsonOf(c, hub);
    return handler(c, {
      params: check(params, c.req.param(), "path") as z.output<P>,
      query: check(strictQuery, flat(c.req.queries()), "query") as z.output<Q>,
      body: (body === undefined ? undefined : check(body, given, "body")) as z.output<B>,
    });
  });
}

const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    code: z.string(),
    detail: z.string(),
  })
  .loose()
  .openapi("Problem");

/** An answer whose text is JSON already. */
export function jsonText(c: HubRequest, text: string): Response {
  return c.body(text, 200, { "Content-Type": "application/json" });
}

/** Enters a route into the document without adding a handler. */
export function document<P extends Fields, Q extends Fields, B extends z.ZodType>(
  app: HubApp,
  spec: RouteSpec<P, Q, B> & { readonly bodies?: Readonly<Record<string, z.ZodType>> },
): void {
  const bodies = spec.bodies ?? (spec.body === undefined ? undefined : { "application/json": spec.body });
  const content =
    bodies === undefined
      ? undefined
      : Object.fromEntries(Object.entries(bodies).map(([type, schema]) => [type, { schema }]));
  app.openAPIRegistry.registerPath(
    createRoute({
      method: spec.method,
      path: spec.path,
      operationId: operationId(spec.method, spec.path),
      tags: [spec.tag],
      summary: spec.summary,
      ...(spec.rights === undefined
        ? { security: [] }
        : { description: `Rights: ${spec.rights}.`, security: [{ bearer: [] }] }),
      request: {
        ...(spec.params && { params: spec.params }),
        ...(spec.query && { query: spec.query }),
        ...(content && { body: { content, required: true } }),
      },
      responses: {
        200: {
          description: "OK",
          content: { [spec.contentType ?? "application/json"]: { schema: spec.answer ?? z.looseObject({}) } },
        },
        default: { description: "A problem", content: { "application/problem+json": { schema: Problem } } },
      },
    }),
  );
}

function operationId(method: string, path: string): string {
  const words = path.split(/[^a-z0-9]+/i).filter((word) => word !== "");
  return [method, ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join("");
}

async function jsonOf(c: HubRequest, hub: HubContext): Promise<unknown> {
  const bytes = await readBody(c.env.incoming, hub.limits.maxBodyBytes);
  return bytes.length === 0 ? {} : demandShallow(parseJson(bytes));
}

/** What looks into a body does so level by level, on a stack that has an end. */
function demandShallow(body: unknown): unknown {
  let level: unknown[] = [body];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH)
      throw new HubError("BAD_REQUEST", `the body is nested more than ${MAX_DEPTH} levels deep`);
    level = level.flatMap((value) =>
      typeof value === "object" && value !== null ? Object.values(value) : [],
    );
  }
  return body;
}

/** A parameter that is given once as what it says, another as a list. */
export function flat(queries: Record<string, string[]>): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(queries).map(([name, values]) => [
      name,
      values.length === 1 ? (values[0] as string) : values,
    ]),
  );
}

/** What the schema makes of it, or BAD_REQUEST that names the field. */
export function check<T extends z.ZodType>(schema: T, value: unknown, where: string): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const path = (issue?.path ?? []).map(String).join(".");
  throw new HubError("BAD_REQUEST", `${path === "" ? where : path}: ${issue?.message ?? "not valid"}`, {
    details: {
      issues: result.error.issues
        .slice(0, 20)
        .map(({ path: at, message }) => ({ path: at.map(String).join("."), message })),
    },
  });
}
