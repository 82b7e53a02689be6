/** Answers that go on: each ends with its reader, with its caller's token, and with the hub. */
import type { Caller } from "../auth.js";
import type { HubContext } from "../context.js";

export interface StreamLife {
  readonly signal: AbortSignal;
  /** Frees what it holds. Twice is harmless. */
  end(): void;
}

/** Timers take no more than this. */
const MAX_TIMER_MS = 2_000_000_000;

export function streamLife(hub: HubContext, caller: Caller): StreamLife {
  const over = new AbortController();
  const { clock } = hub.bus;
  const leftMs = caller.expiresMs - clock.now();
  const cancel = leftMs < MAX_TIMER_MS ? clock.setTimer(Math.max(0, leftMs), () => over.abort()) : undefined;
  const onClosing = (): void => over.abort();
  hub.closing.addEventListener("abort", onClosing);
  if (hub.closing.aborted) over.abort();
  return {
    signal: over.signal,
    end: () => {
      cancel?.();
      hub.closing.removeEventListener("abort", onClosing);
      over.abort();
    },
  };
}

/** A stream of server-sent events, as proxies and browsers must be told. */
export function serverSentEvents(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, {
    headers: {
      "Content-Type": "text/event-stream; charset=utf-8",
      "Cache-Control": "no-store",
      "X-Accel-Buffering": "no",
      "X-Content-Type-Options": "nosniff",
    },
  });
}

const CHUNK_CHARS = 65_536;

/** Texts as a body, gathered into chunks; the next is made when there is room for it. */
export function textStream(texts: AsyncGenerator<string>, life: StreamLife): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          let gathered = "";
          while (gathered.length < CHUNK_CHARS) {
            const { value, done } = await texts.next();
            if (!done) gathered += value;
            else break;
          }
          if (gathered !== "") controller.enqueue(encoder.encode(gathered));
          else {
            controller.close();
            life.end();
          }
        } catch (error) {
          // Too late for a status: the reader must see that it is not whole.
          controller.error(error);
          life.end();
        }
      },
      async cancel() {
        life.end();
        await texts.return(undefined);
      },
    },
    { highWaterMark: 1 },
  );
}
