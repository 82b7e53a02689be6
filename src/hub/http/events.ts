/**
 * GET /events: a topic as server-sent events. Each event's `id` is a cursor that names the place in every partition, so
 * that Last-Event-ID goes on exactly there. A reader that does not keep up holds back its own stream only; if that
 * lasts, it is ended and may come back.
 */
import { z } from "@hono/zod-openapi";
import type { Seq, StoredEvent } from "../../model/event.js";
import { floorsAt } from "../../project/topic-position.js";
import type { Caller } from "../auth/auth.js";
import type { HubContext } from "../context.js";
import { HubError } from "../problem.js";
import { addRoute, type HubApp, type HubRequest, readableTopic } from "./base.js";
import { checkPartition, Partition, parsePosition } from "./positions.js";
import { type StreamLife, serverSentEvents, streamLife } from "./streams.js";

const HEARTBEAT_MS = 15_000;
const BUFFER_BYTES = 65_536;

interface Wanted {
  readonly topic: string;
  readonly floors: Seq[];
  readonly key?: string | undefined;
  readonly partition?: number | undefined;
}

export function eventRoutes(app: HubApp, hub: HubContext): void {
  const streams = new StreamCount(hub);
  addRoute(
    app,
    hub,
    {
      method: "get",
      path: "/events",
      tag: "events",
      summary: "A topic as server-sent events; Last-Event-ID resumes it",
      rights: "read:<topic>",
      query: z.object({
        topic: z.string(),
        from: z.string().optional().openapi({
          description: '"latest" (default), "earliest", a time, "id:<event>" or "seq:<n>"',
        }),
        cursor: z.string().optional().openapi({ description: "As Last-Event-ID" }),
        key: z.string().optional(),
        partition: Partition.optional(),
      }),
      answer: z.string(),
      contentType: "text/event-stream",
    },
    async (c, { query }) => {
      const { topic, key, partition } = query;
      const { partitions } = await readableTopic(c, hub, topic);
      const cursor = c.req.header("last-event-id") ?? query.cursor;
      const place =
        cursor === undefined || cursor === ""
          ? parsePosition(query.from ?? "latest")
          : { floors: decodeCursor(cursor, topic) };
      const floors = await floorsAt(hub.bus.store.log, topic, place);
      if (partition !== undefined) checkPartition(topic, partition, partitions);
      const body = eventStream(hub, c, { topic, floors, key, partition }, streams);
      return serverSentEvents(body);
    },
  );
}

function eventStream(
  hub: HubContext,
  { get, env: { outgoing } }: HubRequest,
  wanted: Wanted,
  streams: StreamCount,
): ReadableStream<Uint8Array> {
  const caller = get("caller");
  const release = streams.add(caller);
  const life = streamLife(hub, caller);
  const events = hub.bus.follow(wanted.topic, wanted.floors, life.signal, wanted.partition);
  const encoder = new TextEncoder();
  let movedMs = hub.bus.clock.steady();
  let stopBeating: () => void = () => undefined;
  const end = (): void => {
    stopBeating();
    life.end();
    release();
  };
  // It has as long again to read that it is over.
  const endIfBehind = (behindMs: number): void => {
    if (behindMs > 2 * hub.limits.slowConsumerMs) outgoing.destroy();
    else if (behindMs > hub.limits.slowConsumerMs) life.end();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode(`: ${wanted.topic}\nid: ${encodeCursor(wanted)}\n\n`));
        stopBeating = beat(hub, () => {
          if ((controller.desiredSize ?? 0) > 0)
            controller.enqueue(encoder.encode(`:\nid: ${encodeCursor(wanted)}\n\n`));
          else endIfBehind(hub.bus.clock.steady() - movedMs);
        });
      },
      async pull(controller) {
        movedMs = hub.bus.clock.steady();
        const event = await nextWanted(events, wanted, life);
        if (event !== null) {
          controller.enqueue(encoder.encode(`id: ${encodeCursor(wanted)}\ndata: ${oneLine(event.json)}\n\n`));
          return;
        }
        end();
        controller.close();
      },
      async cancel() {
        end();
        await events.return(undefined);
      },
    },
    { highWaterMark: BUFFER_BYTES, size: (chunk) => chunk.byteLength },
  );
}

/** The next event of that key, if one is named; null at the end. A store that fails ends it: the reader comes back. */
async function nextWanted(
  events: AsyncGenerator<StoredEvent>,
  { key }: Wanted,
  life: StreamLife,
): Promise<StoredEvent | null> {
  try {
    for (;;) {
      const { value, done } = await events.next();
      if (done || life.signal.aborted) return null;
      if (key === undefined || value.key === key) return value;
    }
  } catch {
    return null;
  }
}

function beat(hub: HubContext, action: () => void): () => void {
  let cancel = (): void => undefined;
  const again = (): void => {
    cancel = hub.bus.clock.setTimer(HEARTBEAT_MS, () => {
      again();
      action();
    });
  };
  again();
  return () => cancel();
}

/** Payloads are kept as they came; between its tokens JSON may have line ends, which would end the field. */
function oneLine(json: string): string {
  return /[\r\n]/.test(json) ? json.replaceAll(/[\r\n]+/g, " ") : json;
}

function encodeCursor({
  topic,
  floors,
}: {
  readonly topic: string;
  readonly floors: readonly Seq[];
}): string {
  return Buffer.from(JSON.stringify([topic, ...floors])).toString("base64url");
}

function decodeCursor(cursor: string, topic: string): Seq[] {
  try {
    const [of, ...floors] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as [string, ...Seq[]];
    if (of === topic) return floors;
  } catch {
    // Not one of ours.
  }
  throw new HubError("BAD_REQUEST", `this cursor is not one that ${topic} gave`);
}

/** How many streams each subject has. */
class StreamCount {
  readonly #max: number;
  readonly #bySubject = new Map<string, number>();

  constructor(hub: HubContext) {
    this.#max = hub.limits.maxConnectionsPerSubject;
  }

  add({ subject }: Caller): () => void {
    const count = (this.#bySubject.get(subject) ?? 0) + 1;
    if (count > this.#max) throw new HubError("QUEUE_FULL", `${subject} has too many streams`);
    this.#bySubject.set(subject, count);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const left = (this.#bySubject.get(subject) ?? 1) - 1;
      if (left === 0) this.#bySubject.delete(subject);
      else this.#bySubject.set(subject, left);
    };
  }
}
