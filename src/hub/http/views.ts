/** Read models: one document with an ETag, pages of them, as they are or as they were. */
import { createHash } from "node:crypto";
import { z } from "@hono/zod-openapi";
import { pause } from "../../model/clock.js";
import type { JsonObject } from "../../model/json.js";
import { isDeadLetterTopic } from "../../model/topic.js";
import type { ViewInfo } from "../../ports/documents.js";
import { type RebuildHandle, rebuildView } from "../../project/rebuild/rebuild.js";
import { previewRebuild } from "../../project/rebuild/rebuild-preview.js";
import { rollbackView } from "../../project/rebuild/view-rollback.js";
import { removeView } from "../../project/view-removal.js";
import { viewAt } from "../../project/views/past-view.js";
import { checkViewName, type ViewPage, type ViewRecord } from "../../project/views/view.js";
import { viewOfBuild } from "../../project/views/view-pointer.js";
import type { HubContext } from "../context.js";
import type { JobWork } from "../jobs.js";
import { HubError } from "../problem.js";
import { addRoute, check, demand, demandOpen, type HubApp, type HubRequest } from "./base.js";
import { Count, parseTime } from "./positions.js";
import { orderOf, whereOf } from "./view-query.js";
import { ViewSources } from "./view-sources.js";

const DEFAULT_WAIT_MS = 5_000;
const MAX_WAIT_MS = 60_000;

const One = z.object({
  at: z.string().optional().openapi({ description: "As it was at this time (milliseconds or ISO 8601)" }),
  min: z
    .string()
    .regex(/^\d+:\d+(,\d+:\d+)*$/, "write <partition>:<seq>")
    .optional()
    .openapi({ description: "Waits until the view has taken in this event: <partition>:<seq>" }),
  wait_ms: z.coerce.number().int().min(0).max(MAX_WAIT_MS).optional(),
  group: z.string().optional().openapi({ description: "The projector's, for min, if it has one of its own" }),
});
type OneQuery = z.output<typeof One>;

const Many = One.extend({
  order: z.string().min(1).optional().openapi({ description: '"field", or "-field" for descending' }),
  limit: Count(1_000).optional(),
  after: z.string().optional().openapi({ description: "`next` of the page before" }),
  key: z.string().optional().openapi({
    description: "The document of this key; no path holds one that is empty or nothing but dots",
  }),
});
type ManyQuery = z.output<typeof Many>;

const RIGHTS = "read:<topic> of the topics it is made of, or read:<view> where these are not known";

export function viewRoutes(app: HubApp, hub: HubContext): void {
  const views = new Views(hub);
  const tag = "views";
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/views",
      tag,
      summary: "The views one may read",
      rights: RIGHTS,
      answer: z.object({ items: z.array(z.looseObject({})) }),
    },
    async (c) => c.json({ items: await views.readable(c) }),
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/snap/{view}/{key}",
      tag,
      summary: "A document, with an ETag",
      rights: RIGHTS,
      params: z.object({ view: z.string(), key: z.string() }),
      query: One,
    },
    (c, { params, query }) => views.document(c, params.view, params.key, query),
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/snap/{view}",
      tag,
      summary:
        "Documents of a view (where.<field>=<value>), or one of them (key); or the document of that key, if there is one view only",
      rights: RIGHTS,
      params: z.object({ view: z.string() }),
      query: Many,
      openQuery: true,
    },
    async (c, { params, query }) => {
      const { key, ...one } = query;
      if (key !== undefined) return views.document(c, params.view, key, check(One.strict(), one, "query"));
      if (await views.exists(params.view)) return c.json(await views.page(c, params.view, query));
      return views.document(c, await views.only(c, params.view), params.view, query);
    },
  );
}

/** A view made anew beside the one in use, and the way back. */
export function rebuildRoutes(app: HubApp, hub: HubContext): void {
  const views = new Views(hub);
  const params = z.object({ view: z.string() });
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/views/{view}/rebuild",
      tag: "views",
      summary:
        "Makes a view anew from its log, compares, and switches over, a job; or says what that would take (dryRun)",
      rights: `ops:rebuild and ${RIGHTS}`,
      params,
      body: z.strictObject({
        switch: z.boolean().optional(),
        samples: z.number().int().min(0).max(100).optional(),
        dryRun: z.boolean().optional(),
      }),
    },
    async (c, { params: { view }, body }) => {
      demand(c, "ops", "rebuild");
      await views.demand(c, view);
      if (body.dryRun) return c.json(await previewRebuild(hub.bus, view));
      const actor = c.get("caller").subject;
      const handle = await rebuildView(hub.bus, view, {
        actor,
        ...(body.switch !== undefined && { switch: body.switch }),
        ...(body.samples !== undefined && { samples: body.samples }),
      });
      try {
        const asked = { kind: "rebuild", target: view, actor };
        return c.json({ job: await hub.jobs.start(asked, (o) => following(handle, o)) } as object, 202);
      } catch (error) {
        // Whoever asked is told that it failed, and nobody could stop it.
        await handle.stop();
        throw error;
      }
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/views/{view}/rollback",
      tag: "views",
      summary: "Makes the view that counted before count again, or says what that would mean (dryRun)",
      rights: `ops:rebuild and ${RIGHTS}`,
      params,
      body: z.strictObject({ dryRun: z.boolean().optional() }),
    },
    async (c, { params: { view }, body: { dryRun = false } }) => {
      demand(c, "ops", "rebuild");
      await views.demand(c, view);
      return c.json(await rollbackView(hub.bus, view, { dryRun, actor: c.get("caller").subject }));
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "post",
      path: "/views/{view}/remove",
      tag: "views",
      summary: "Removes a view and all that belongs to it, or says what that would mean (dryRun)",
      rights: `ops:rebuild and ${RIGHTS}`,
      params,
      body: z.strictObject({ dryRun: z.boolean().optional() }),
    },
    async (c, { params: { view }, body }) => {
      demand(c, "ops", "rebuild");
      await views.demand(c, view);
      const preview = await removeView(hub.bus, view, { dryRun: true });
      for (const other of preview.others) await views.demand(c, other);
      if (body.dryRun) return c.json(preview);
      return c.json(await removeView(hub.bus, view, { actor: c.get("caller").subject }));
    },
  );
}

const REBUILD_NOTE_MS = 200;

/** A rebuild as a job: tells how far it is, and ends when the job is stopped. */
async function following(handle: RebuildHandle, { signal, note }: Parameters<JobWork>[0]): Promise<unknown> {
  const onAbort = (): void => void handle.stop();
  signal.addEventListener("abort", onAbort, { once: true });
  const every = setInterval(() => note({ ...handle.stats() } as JsonObject), REBUILD_NOTE_MS);
  try {
    return await handle.result;
  } finally {
    clearInterval(every);
    note({ ...handle.stats() } as JsonObject);
    signal.removeEventListener("abort", onAbort);
  }
}

class Views {
  readonly #hub: HubContext;
  readonly #sources: ViewSources;

  constructor(hub: HubContext) {
    this.#hub = hub;
    this.#sources = new ViewSources(hub);
  }

  async demand(c: HubRequest, view: string): Promise<void> {
    checkViewName(view);
    await this.#sources.demand(c, view);
  }

  /** Each with the topic it is made of, where that is known. */
  async readable(c: HubRequest): Promise<(ViewInfo & { topic: string | null })[]> {
    const all = await this.#all();
    const allowed = await Promise.all(all.map(({ view }) => this.#sources.mayRead(c, view)));
    const readable = all.filter((_, i) => allowed[i]);
    return Promise.all(
      readable.map(async (info) => ({ ...info, topic: await this.#sources.topicOf(info.view) })),
    );
  }

  async exists(name: string): Promise<boolean> {
    return (await this.#all()).some(({ view }) => view === name);
  }

  /** The view that a lone key belongs to. */
  async only(c: HubRequest, key: string): Promise<string> {
    const views = await this.#all();
    const [first] = views;
    const isOnly = first !== undefined && views.length === 1;
    if (isOnly && (await this.#sources.mayRead(c, first.view))) return first.view;
    // Whoever may not read a view of that name is told that, not whether it is there.
    checkViewName(key);
    await this.#sources.demand(c, key);
    throw new HubError("NOT_FOUND", `there is no view ${key}`);
  }

  /** By the names people use: builds of a view count as one, the newest. What became of dead letters is no view. */
  async #all(): Promise<ViewInfo[]> {
    const byName = new Map<string, ViewInfo>();
    for (const info of await this.#hub.bus.store.documents.views()) {
      if (isDeadLetterTopic(info.view)) continue;
      const view = viewOfBuild(info.view);
      byName.set(view, { ...info, view });
    }
    return [...byName.values()];
  }

  async document(c: HubRequest, view: string, key: string, query: OneQuery): Promise<Response> {
    await this.demand(c, view);
    const document = await this.#find(view, key, query);
    if (document === null) {
      // A view is mostly known by its topic: many ask until a document comes, and to list all views costs commands for each.
      const isThere = (await this.#sources.topicOf(view)) !== null || (await this.exists(view));
      throw new HubError(
        "NOT_FOUND",
        isThere ? `${view} has no ${key.slice(0, 200)}` : `there is no view ${view}`,
      );
    }
    const text = JSON.stringify(document);
    const etag = etagOf(text);
    const headers = { ETag: etag, "Cache-Control": "no-cache" };
    if (matches(c.req.header("if-none-match"), etag)) return c.body(null, 304, headers);
    return c.body(text, 200, { ...headers, "Content-Type": "application/json" });
  }

  async #find(view: string, key: string, query: OneQuery): Promise<ViewRecord | null> {
    if (query.at !== undefined) return (await viewAt(this.#hub.bus, view, parseTime(query.at))).get(key);
    await this.#reached(view, query);
    return this.#hub.bus.view(view).get(key);
  }

  async page(c: HubRequest, view: string, query: ManyQuery): Promise<ViewPage> {
    await this.#sources.demand(c, view);
    const { at, order, limit, after } = query;
    const where = whereOf(query);
    const misspelt = Object.keys(query).find(
      (name) => !Object.hasOwn(Many.shape, name) && !name.startsWith("where."),
    );
    if (misspelt !== undefined)
      throw new HubError(
        "BAD_REQUEST",
        `"${misspelt.slice(0, 80)}" is no filter: write where.<field>=<value>`,
      );
    const paging = { ...(limit !== undefined && { limit }), ...(after !== undefined && { after }) };
    if (at !== undefined) {
      if (order !== undefined || Object.keys(where).length > 0)
        throw new HubError("BAD_REQUEST", "at goes with limit and after only");
      return (await viewAt(this.#hub.bus, view, parseTime(at))).find(paging);
    }
    await this.#reached(view, query);
    return this.#hub.bus.view(view).find({
      where,
      ...paging,
      ...(order !== undefined && { order: orderOf(order) }),
    });
  }

  /** Waits until the view has taken in what `min` names; ACK_TIMEOUT if that takes too long. */
  async #reached(view: string, { min, group, wait_ms = DEFAULT_WAIT_MS }: OneQuery): Promise<void> {
    if (min === undefined) return;
    const wanted = min.split(",").map((part) => part.split(":").map(Number) as [number, number]);
    const partitions = wanted.map(([partition]) => partition);
    const look = this.#sources.looks(view, group, partitions);
    const { bus, closing } = this.#hub;
    const deadlineMs = bus.clock.steady() + wait_ms;
    for (let napMs = 5; ; napMs = Math.min(napMs * 2, 100)) {
      const floors = await look();
      if (wanted.every(([, seq], i) => (floors[i] as number) >= seq)) return;
      demandOpen(this.#hub, `${view} had not come to ${min}`);
      if (bus.clock.steady() >= deadlineMs)
        throw new HubError("ACK_TIMEOUT", `${view} has not come to ${min} within ${wait_ms} ms`);
      await pause(bus.clock, napMs, closing);
    }
  }
}

/** Not of its version: made anew by a rebuild, a document may say something else in the same one. */
function etagOf(text: string): string {
  return `"${createHash("sha256").update(text).digest("base64url")}"`;
}

/** Weak comparison; `*` fits whatever is there. */
function matches(header: string | undefined, etag: string): boolean {
  const tags = (header ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}
