/** Answers that go on: each ends with its reader, with its caller's token, and with the hub. */
import type { FileHandle } from "node:fs/promises";
import type { HttpBindings } from "@hono/node-server";
import { nextTurn } from "../../model/next-turn.js";
import type { Caller } from "../auth/auth.js";
import type { HubContext } from "../context.js";

export interface StreamLife {
  readonly signal: AbortSignal;
  /** Frees what it holds. Twice is harmless. */
  end(): void;
}

export function streamLife(hub: HubContext, caller: Caller): StreamLife {
  const over = new AbortController();
  const { clock } = hub.bus;
  const leftMs = caller.expiresMs - clock.now();
  const end = (): void => {
    cancel?.();
    hub.closing.removeEventListener("abort", end);
    over.abort();
  };
  const cancel = leftMs < Number.POSITIVE_INFINITY ? clock.setTimer(Math.max(0, leftMs), end) : undefined;
  hub.closing.addEventListener("abort", end);
  if (hub.closing.aborted) end();
  return { signal: over.signal, end };
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
const CHUNK_BYTES = 262_144;

type Outgoing = HttpBindings["outgoing"];

/** Cuts off a reader that takes nothing of what it was handed for too long: what is held for it would be held for ever (P13). */
class ReaderWatch {
  readonly #hub: HubContext;
  readonly #outgoing: Outgoing;
  #cancel: () => void = () => undefined;

  constructor(hub: HubContext, outgoing: Outgoing) {
    this.#hub = hub;
    this.#outgoing = outgoing;
    outgoing.once("close", () => this.#cancel());
  }

  /** It has something to take; what it had before it took. */
  handed(): void {
    const { bus, limits } = this.#hub;
    this.#cancel();
    if (!this.#outgoing.closed)
      this.#cancel = bus.clock.setTimer(limits.slowConsumerMs, () => void breakOff(this.#outgoing));
  }

  took(): void {
    this.#cancel();
  }
}

/**
 * Texts as a body, gathered into chunks; the next is made when there is room for it. Fails before there is an answer if the first
 * text cannot be had. What fails, or has to end, later is broken off: the reader must see that it is not whole.
 */
export async function textStream(
  texts: AsyncGenerator<string>,
  life: StreamLife,
  outgoing: Outgoing,
): Promise<ReadableStream<Uint8Array>> {
  const encoder = new TextEncoder();
  let gathered = await firstOf(texts, life);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          while (gathered.length < CHUNK_CHARS) {
            const { value, done } = await texts.next();
            if (!done) gathered += value;
            else break;
          }
          if (life.signal.aborted) throw new Error("its time is over");
          if (gathered !== "") controller.enqueue(encoder.encode(gathered));
          else {
            controller.close();
            life.end();
          }
          gathered = "";
        } catch {
          life.end();
          await breakOff(outgoing);
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

/** A file as a body, from its beginning. What fails, or has to end, is broken off, and so is what nobody reads any more. */
export function fileStream(
  hub: HubContext,
  file: FileHandle,
  life: StreamLife,
  outgoing: Outgoing,
): ReadableStream<Uint8Array> {
  const reader = new ReaderWatch(hub, outgoing);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader.took();
        try {
          const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES));
          if (life.signal.aborted) throw new Error("its time is over");
          if (bytesRead === 0) controller.close();
          else controller.enqueue(buffer.subarray(0, bytesRead));
          reader.handed();
        } catch {
          await breakOff(outgoing);
        }
      },
    },
    { highWaterMark: 1 },
  );
}

async function firstOf(texts: AsyncGenerator<string>, life: StreamLife): Promise<string> {
  try {
    const { value, done } = await texts.next();
    return done ? "" : value;
  } catch (error) {
    life.end();
    throw error;
  }
}

/** The server takes a body that fails before its headers are out for one that ended: they go out first, with what is there. */
async function breakOff(outgoing: Outgoing): Promise<void> {
  while (!outgoing.headersSent && !outgoing.destroyed) await nextTurn();
  outgoing.destroy();
}
