/** Events that the hub leased to this client: each runs its handler and is settled by how that ends. */

import type { ClientFrame, EventFrame } from "../hub/protocol.js";
import { describeThrown } from "../model/errors.js";
import type { EventRecord } from "../model/event.js";

export interface ClientContext {
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Aborts when the connection is lost or the deadline passes: what is done after that does not count. */
  readonly signal: AbortSignal;
  /** Moves the deadline to `ms` from now. */
  extend(ms: number): void;
  ack(): void;
  nack(reason?: string): void;
}

export type ClientHandler<T = unknown> = (event: EventRecord<T>, ctx: ClientContext) => unknown;

/** Runs one delivery. `send` drops frames once the connection that brought the event is gone. */
export function runDelivery(
  frame: EventFrame & { readonly subscription?: string },
  handler: ClientHandler,
  o: { readonly manualAck: boolean; readonly lost: AbortSignal; readonly send: (frame: ClientFrame) => void },
): void {
  const event = frame.event as EventRecord;
  const over = new AbortController();
  const lease = {
    topic: frame.subscription ?? frame.topic,
    group: frame.group,
    id: event.id,
    attempt: frame.ctx.attempt,
    epoch: frame.ctx.epoch,
  };
  const expire = (): void => end();
  let timer = setTimeout(expire, frame.ctx.ack_deadline_ms);
  const end = (): void => {
    clearTimeout(timer);
    o.lost.removeEventListener("abort", end);
    over.abort();
  };
  o.lost.addEventListener("abort", end, { once: true });
  const settle = (settled: ClientFrame): void => {
    if (over.signal.aborted) return;
    clearTimeout(timer);
    o.lost.removeEventListener("abort", end);
    o.send(settled);
  };
  let done = false;
  const once = (settled: ClientFrame): void => {
    if (!done) settle(settled);
    done = true;
  };
  const ctx: ClientContext = {
    attempt: frame.ctx.attempt,
    maxAttempts: frame.ctx.max_attempts,
    signal: over.signal,
    ack: () => once({ type: "ACK", ...lease }),
    nack: (reason) => once({ type: "NACK", ...lease, ...(reason !== undefined && { reason }) }),
    extend: (ms) => {
      if (done || over.signal.aborted) return;
      clearTimeout(timer);
      timer = setTimeout(expire, ms);
      o.send({ type: "MODACK", ...lease, extend_ms: ms });
    },
  };
  void run(event, ctx, handler, o.manualAck);
}

async function run(
  event: EventRecord,
  ctx: ClientContext,
  handler: ClientHandler,
  manualAck: boolean,
): Promise<void> {
  try {
    await handler(event, ctx);
    if (!manualAck) ctx.ack();
  } catch (thrown) {
    ctx.nack(describeThrown(thrown));
  }
}
