/**
 * A topic as it grows, over server-sent events. Events are gathered and handed over a few times a second, so that a fast
 * topic costs few redraws; a broken line is taken up again where it broke off.
 */
import { openStream, withQuery } from "./api.js";
import { pause, readEvents } from "./event-stream.js";
import { lightEvent } from "./light-event.js";
import { failed, heard } from "./live.js";
import { type Problem, problemFrom } from "./problem.js";
import type { EventRecord } from "./shapes.js";

export interface TailOptions {
  readonly topic: string;
  readonly from?: string;
  readonly key?: string | undefined;
  readonly partition?: number | undefined;
  readonly onEvents: (events: readonly EventRecord[]) => void;
  readonly onState: (state: TailState) => void;
}

export type TailState =
  | { readonly kind: "connecting" | "live" | "reconnecting" }
  | { readonly kind: "refused"; readonly problem: Problem };

const FLUSH_MS = 150;
const RETRY_MS = 1_000;
/** The hub says every 15 s that it is there. */
const SILENCE_MS = 40_000;

/** Returns how to end it. */
export function tail(options: TailOptions): () => void {
  const over = new AbortController();
  void follow(options, over.signal);
  return () => over.abort();
}

async function follow(options: TailOptions, over: AbortSignal): Promise<void> {
  const { topic, from = "latest", key, partition, onState } = options;
  const path = withQuery("/events", { topic, from, key, partition });
  let cursor: string | undefined;
  const gathered = gather(options, over);
  onState({ kind: "connecting" });
  while (!over.aborted) {
    try {
      const headers = cursor === undefined ? {} : { "last-event-id": cursor };
      await readEvents((signal) => openStream(path, { signal, headers }), {
        over,
        silenceMs: SILENCE_MS,
        onOpen: () => {
          heard();
          onState({ kind: "live" });
        },
        onPlace: (id) => {
          cursor = id;
        },
        onEvent: (data) => gathered.add(lightEvent(data)),
      });
    } catch (error) {
      if (over.aborted) break;
      const problem = problemFrom(error);
      failed(problem);
      if (problem.isRefusal) {
        onState({ kind: "refused", problem });
        break;
      }
    }
    if (!over.aborted) onState({ kind: "reconnecting" });
    await pause(RETRY_MS, over);
  }
  gathered.end();
}

/** Hands events over a few times a second. */
function gather({ onEvents }: TailOptions, over: AbortSignal) {
  let events: EventRecord[] = [];
  const flush = (): void => {
    if (events.length === 0 || over.aborted) return;
    const all = events;
    events = [];
    onEvents(all);
  };
  const timer = setInterval(flush, FLUSH_MS);
  return {
    add: (event: EventRecord): void => void events.push(event),
    end: (): void => {
      clearInterval(timer);
      flush();
    },
  };
}
