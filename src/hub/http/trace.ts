/**
 * Causes and effects: from an event back to what caused it, by id, and on to what it caused, by looking through what
 * came after it. There is no index of effects, so that part is bounded, and the answer says whether it saw everything.
 */
import { z } from "@hono/zod-openapi";
import type { StoredEvent } from "../../model/event.js";
import { mapInTurns } from "../../model/map-in-turns.js";
import { nextTurn } from "../../model/next-turn.js";
import type { Log } from "../../ports/log.js";
import type { HubContext } from "../context.js";
import { addRoute, type HubApp, type HubRequest, may } from "./base.js";
import { readableEvent } from "./browse.js";
import { Count, parseTime } from "./positions.js";

const MAX_EVENTS = 500;
const DEFAULT_SCAN = 50_000;
const PAGE = 500;
const PAGES_AT_ONCE = 8;
/** Publishers' clocks may differ by this much. */
const SKEW_MS = 60_000;
/** A lookup that names no time begins this long ago. */
const DAY_MS = 86_400_000;
const tag = "events";
const RIGHTS = "read:<topic> for each event that is shown";

const Scan = Count(1_000_000)
  .optional()
  .openapi({ description: "Events looked at in search of effects; default 50,000" });

export function traceRoutes(app: HubApp, hub: HubContext): void {
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/trace/{id}",
      tag,
      summary: "What caused an event, and what it caused",
      rights: RIGHTS,
      params: z.object({ id: z.string() }),
      query: z.object({ scan: Scan }),
    },
    async (c, { params, query }) => {
      const start = await readableEvent(c, hub, params.id);
      const trace = new Trace(c, hub, query.scan ?? DEFAULT_SCAN);
      await trace.causes(start);
      await trace.effects(start.ts - SKEW_MS, (event) => isEffect(event));
      return c.json({ id: start.id, ...trace.result(start.id) });
    },
  );
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/trace",
      tag,
      summary: "The events of one correlation: by header correlationId or x-correlation-id, trace id, or sid",
      rights: RIGHTS,
      query: z.object({ correlation: z.string().min(1).max(500), from: z.string().optional(), scan: Scan }),
    },
    async (c, { query }) => {
      const { correlation, from, scan = DEFAULT_SCAN } = query;
      const fromMs = from === undefined ? hub.bus.clock.now() - DAY_MS : parseTime(from);
      const trace = new Trace(c, hub, scan);
      await trace.effects(fromMs, (event) => isEffect(event) || correlates(event, correlation), correlation);
      return c.json({ correlation, ...trace.result() });
    },
  );
}

function isEffect(event: StoredEvent): boolean {
  return (event.meta?.caused_by?.length ?? 0) > 0;
}

/** W3C trace context: the second part of traceparent is the trace's id. */
function correlates({ meta }: StoredEvent, correlation: string): boolean {
  const headers = meta?.headers;
  return (
    meta?.sid === correlation ||
    headers?.correlationId === correlation ||
    headers?.["x-correlation-id"] === correlation ||
    headers?.traceparent?.split("-")[1] === correlation
  );
}

class Trace {
  readonly #c: HubRequest;
  readonly #hub: HubContext;
  readonly #maxScan: number;
  readonly #events = new Map<string, StoredEvent>();
  /** Named as causes, but not there, or not to be seen by this caller. */
  readonly #missing = new Set<string>();
  #scanned = 0;
  #complete = true;

  constructor(c: HubRequest, hub: HubContext, maxScan: number) {
    this.#c = c;
    this.#hub = hub;
    this.#maxScan = maxScan;
  }

  async causes(start: StoredEvent): Promise<void> {
    this.#add(start);
    for (const event of this.#events.values()) {
      for (const id of event.meta?.caused_by ?? []) {
        if (this.#events.has(id) || this.#missing.has(id)) continue;
        const cause = await this.#hub.bus.store.log.find(id);
        if (cause === null || !may(this.#c, "read", cause.topic)) this.#missing.add(id);
        else if (!this.#add(cause)) return;
      }
    }
  }

  /** Those of the events since `fromMs` that follow from what is known already, or that correlate. */
  async effects(
    fromMs: number,
    mayBelong: (event: StoredEvent) => boolean,
    correlation?: string,
  ): Promise<void> {
    const byCause = new Map<string, string[]>();
    for await (const event of this.#since(fromMs, mayBelong)) {
      if (correlation !== undefined && correlates(event, correlation) && !this.#add(event)) return;
      for (const cause of event.meta?.caused_by ?? []) {
        const known = byCause.get(cause);
        if (known === undefined) byCause.set(cause, [event.id]);
        else known.push(event.id);
      }
    }
    for (const { id } of this.#events.values()) {
      for (const effect of byCause.get(id) ?? []) {
        if (this.#events.has(effect)) continue;
        const event = await this.#hub.bus.store.log.find(effect);
        if (event !== null && !this.#add(event)) return;
      }
    }
  }

  result(root?: string): object {
    const events = [...this.#events.values()].sort((a, b) => a.ts - b.ts || a.seq - b.seq);
    const edges = events.flatMap((event) =>
      (event.meta?.caused_by ?? [])
        .filter((cause) => this.#events.has(cause))
        .map((cause) => ({ from: cause, to: event.id })),
    );
    return {
      ...(root !== undefined && { root }),
      events: events.map(({ record }) => record),
      edges,
      missing: [...this.#missing],
      scanned: this.#scanned,
      complete: this.#complete,
    };
  }

  /** False if there are enough. */
  #add(event: StoredEvent): boolean {
    if (this.#events.size >= MAX_EVENTS) {
      this.#complete = false;
      return false;
    }
    this.#events.set(event.id, event);
    return true;
  }

  /** All readable partitions in turn, so that a busy one does not use up what may be looked at. Others have their turn in between. */
  async *#since(fromMs: number, wanted: (event: StoredEvent) => boolean): AsyncGenerator<StoredEvent> {
    const { log } = this.#hub.bus.store;
    let lanes = await this.#lanes(log, fromMs);
    while (lanes.length > 0 && !this.#c.req.raw.signal.aborted) {
      for (let at = 0; at < lanes.length; ) {
        const left = this.#maxScan - this.#scanned;
        if (left <= 0) {
          this.#complete = false;
          return;
        }
        const some = lanes.slice(at, at + Math.min(PAGES_AT_ONCE, Math.ceil(left / PAGE)));
        at += some.length;
        yield* (await Promise.all(some.map((lane) => this.#readOn(log, lane)))).flat().filter(wanted);
        await nextTurn();
      }
      lanes = lanes.filter(({ after, head }) => after < head);
    }
  }

  async #readOn(log: Log, lane: Lane): Promise<readonly StoredEvent[]> {
    const { events, through } = await log.read(lane.topic, lane.partition, {
      after: lane.after,
      limit: PAGE,
    });
    this.#scanned += events.length;
    lane.after = through > lane.after ? through : lane.head;
    return events;
  }

  async #lanes(log: Log, fromMs: number): Promise<Lane[]> {
    const topics = (await this.#hub.bus.topics()).filter(({ name }) => may(this.#c, "read", name));
    const heads = await log.headsOf(topics.map(({ name }) => name));
    const filled = [...heads].flatMap(([topic, of]) =>
      of.filter(({ events }) => events > 0).map(({ partition, head }) => ({ topic, partition, head })),
    );
    const lanes = await mapInTurns(filled, async ({ topic, partition, head }) => {
      const after = (await log.seqAt(topic, partition, Math.max(0, fromMs))) - 1;
      return { topic, partition, head, after };
    });
    return lanes.filter(({ after, head }) => after < head);
  }
}

interface Lane {
  readonly topic: string;
  readonly partition: number;
  readonly head: number;
  after: number;
}
