/**
 * A topic as it grows, over server-sent events. Events are gathered and handed over a few times a second, so that a fast
 * topic costs few redraws; a broken line is taken up again where it broke off.
 */
import { createParser } from "eventsource-parser";
import { send, withQuery } from "./api.js";
import { heard, unheard } from "./live.js";
import { type Problem, problemFrom } from "./problem.js";
import type { EventRecord } from "./shapes.js";

export interface TailOptions {
  readonly topic: string;
  readonly from?: string;
  readonly key?: string | undefined;
  readonly partition?: number | undefined;
  readonly onEvents: (events: readonly EventRecord[]) => void;
  readonly onState: (state: "connecting" | "live" | "reconnecting", problem?: Problem) => void;
}

const FLUSH_MS = 150;
const RETRY_MS = 1_000;

/** Returns how to end it. */
export function tail(options: TailOptions): () => void {
  const over = new AbortController();
  void follow(options, over.signal);
  return () => over.abort();
}

async function follow(options: TailOptions, signal: AbortSignal): Promise<void> {
  let cursor: string | undefined;
  let first = true;
  while (!signal.aborted) {
    options.onState(first ? "connecting" : "reconnecting");
    first = false;
    try {
      const path = withQuery("/events", {
        topic: options.topic,
        from: options.from ?? "latest",
        key: options.key,
        partition: options.partition,
      });
      const headers = { accept: "text/event-stream", ...(cursor && { "last-event-id": cursor }) };
      const response = await send(path, { signal, headers });
      heard();
      options.onState("live");
      cursor = await drain(response, options, signal, cursor);
    } catch (error) {
      if (signal.aborted) return;
      const problem = problemFrom(error);
      if (problem.isOffline) unheard();
      options.onState("reconnecting", problem);
      if (!problem.isOffline) return;
    }
    await pause(RETRY_MS, signal);
  }
}

/** Reads until the stream ends; returns where it stood. */
async function drain(
  response: Response,
  { onEvents }: TailOptions,
  signal: AbortSignal,
  from: string | undefined,
): Promise<string | undefined> {
  let cursor = from;
  let gathered: EventRecord[] = [];
  const flush = (): void => {
    if (gathered.length === 0 || signal.aborted) return;
    const events = gathered;
    gathered = [];
    onEvents(events);
  };
  const timer = setInterval(flush, FLUSH_MS);
  const parser = createParser({
    onEvent: ({ id, data }) => {
      if (id !== undefined) cursor = id;
      gathered.push(JSON.parse(data) as EventRecord);
    },
  });
  try {
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
      if (done) return cursor;
      parser.feed(value ?? "");
    }
  } finally {
    clearInterval(timer);
    flush();
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
