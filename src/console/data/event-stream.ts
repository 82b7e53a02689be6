/**
 * Server-sent events, as they come. A line that has been silent for longer than it can be is given up: a hub that is frozen, or a
 * way that is cut, never says so.
 */
import { EventLines } from "../../client/event-lines.js";

/** Reads a stream until it ends. Throws if it is not given, breaks off or falls silent. */
export async function readEvents(
  open: (over: AbortSignal) => Promise<Response>,
  o: {
    readonly over: AbortSignal;
    readonly silenceMs: number;
    readonly onOpen?: () => void;
    readonly onEvent: (data: string) => void;
    readonly onPlace?: (id: string) => void;
  },
): Promise<void> {
  const silent = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const alive = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silent.abort(), o.silenceMs);
  };
  try {
    alive();
    const response = await open(AbortSignal.any([o.over, silent.signal]));
    o.onOpen?.();
    const lines = new EventLines(o);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
      if (done || o.over.aborted) return;
      alive();
      lines.take(value ?? "");
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Waits, unless it is over before. */
export function pause(ms: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      over.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    over.addEventListener("abort", end);
    if (over.aborted) end();
  });
}
