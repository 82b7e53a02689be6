/** What every route has: the caller, and the question whether it may. */
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Verb } from "../acl.js";
import type { Caller } from "../auth.js";
import { HubError } from "../problem.js";

export interface HubEnv {
  Variables: { caller: Caller };
}

export type HubApp = OpenAPIHono<HubEnv>;

/** Throws FORBIDDEN, in the same words whether the topic exists or not. */
export function demand(c: Context<HubEnv>, verb: Verb, resource: string): void {
  if (!c.get("caller").acl.allows(verb, resource)) {
    throw new HubError("FORBIDDEN", `this token lacks ${verb}:${resource}`);
  }
}
