/** Work that goes on behind a request: how it does, and its end. */
import { z } from "@hono/zod-openapi";
import type { HubContext } from "../context.js";
import type { Job } from "../jobs.js";
import { HubError } from "../problem.js";
import { addRoute, demand, type HubApp } from "./base.js";

const tag = "operations";
const Id = z.object({ id: z.string() });

export function jobRoutes(app: HubApp, hub: HubContext): void {
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/jobs",
      tag,
      summary: "Redrives, rebuilds and removals that run or ran on any hub, newest first",
      rights: "ops:jobs",
    },
    async (c) => {
      demand(c, "ops", "jobs");
      return c.json({ items: await hub.jobs.list() } as object);
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/jobs/{id}",
      tag,
      summary: "How a job does",
      rights: "ops:jobs, or any token for one's own",
      params: Id,
    },
    async (c, { params }) => {
      const job = found(await hub.jobs.get(params.id), params.id);
      if (job.actor !== c.get("caller").subject) demand(c, "ops", "jobs");
      return c.json(job as object);
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/jobs/{id}/stop",
      tag,
      summary: "Asks a job to end; what it has done stays done",
      rights: "ops:<kind>",
      params: Id,
      body: z.strictObject({}),
    },
    async (c, { params }) => {
      const { kind } = found(await hub.jobs.get(params.id), params.id);
      demand(c, "ops", kind);
      return c.json(found(await hub.jobs.stop(params.id), params.id) as object);
    },
  );
}

function found(job: Job | null, id: string): Job {
  if (job !== null) return job;
  throw new HubError("NOT_FOUND", `there is no job ${id.slice(0, 200)}`);
}
