/** What goes on right now: a snapshot, and a stream of them. */
import { z } from "@hono/zod-openapi";
import { groupKey } from "../../ports/groups.js";
import type { HubContext } from "../context.js";
import { forgetRemovedTopics, type GroupStats } from "../metrics/live-stats.js";
import { addRoute, demand, type HubApp } from "./base.js";
import { sums } from "./groups.js";
import { serverSentEvents, streamLife } from "./streams.js";

const tag = "operations";
const DEFAULT_EVERY_MS = 1_000;
const BUFFER_BYTES = 262_144;

export function statsRoutes(app: HubApp, hub: HubContext): void {
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/stats",
      tag,
      summary: "Rates, lag, dead letters and handler times now, by topic and group, and the last two minutes",
      rights: "ops:stats",
    },
    async (c) => {
      demand(c, "ops", "stats");
      return c.json({ ...(await snapshot(hub)), past: hub.live.past });
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/stats/stream",
      tag,
      summary: "The same as server-sent events, without the past",
      rights: "ops:stats",
      query: z.object({ everyMs: z.coerce.number().int().min(500).max(60_000).optional() }),
      answer: z.string(),
      contentType: "text/event-stream",
    },
    (c, { query }) => {
      demand(c, "ops", "stats");
      const life = streamLife(hub, c.get("caller"));
      const body = statsStream(hub, query.everyMs ?? DEFAULT_EVERY_MS, life);
      return serverSentEvents(body);
    },
  );
}

/** Groups that this hub serves, with their rates, and all others of the store, with their lag alone. */
async function snapshot(hub: HubContext): Promise<object> {
  await forgetRemovedTopics(hub.live, hub.watch);
  const { groups, ...live } = hub.live.snapshot();
  const byName = new Map<string, GroupStats>(groups.map((group) => [groupKey(group), group]));
  const lags = await hub.watch.lag();
  const merged = lags.map(({ topic, group, lag, lagSeconds, members, paused, resting }) => ({
    topic,
    group,
    lag,
    lagSeconds,
    members: members.length,
    ...(paused !== undefined && { paused }),
    ...(resting !== undefined && { resting }),
    ...byName.get(groupKey({ topic, group })),
  }));
  return {
    ...live,
    hub: hub.roll.id,
    connections: hub.connections(),
    groups: merged,
    ...sums(lags),
    deadLetters: await hub.watch.letters(),
  };
}

/** A reader that is behind misses snapshots, never gets old ones; one look at a time, however slow the store. */
function statsStream(
  hub: HubContext,
  everyMs: number,
  life: ReturnType<typeof streamLife>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const { clock } = hub.bus;
  let cancel = (): void => undefined;
  let finish = (): void => undefined;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        finish = () => {
          cancel();
          controller.close();
        };
        if (life.signal.aborted) return finish();
        life.signal.addEventListener("abort", finish, { once: true });
        const tell = async (): Promise<void> => {
          try {
            const text = (controller.desiredSize ?? 0) > 0 ? JSON.stringify(await snapshot(hub)) : undefined;
            if (life.signal.aborted) return;
            if (text !== undefined) controller.enqueue(encoder.encode(`event: stats\ndata: ${text}\n\n`));
          } catch {
            // The store is away: the next one may come through.
            if (life.signal.aborted) return;
            controller.enqueue(encoder.encode(": unavailable\n\n"));
          }
          cancel = clock.setTimer(everyMs, () => void tell());
        };
        void tell();
      },
      cancel() {
        cancel();
        life.signal.removeEventListener("abort", finish);
        life.end();
      },
    },
    { highWaterMark: BUFFER_BYTES, size: (chunk) => chunk.byteLength },
  );
}
