/** Many events as ordered requests of bounded size, one after the other: what stands behind a failure is not sent. */
import { MAX_MANY } from "../hub/protocol.js";
import { BusError } from "../model/errors.js";
import type { Published } from "./requests.js";

interface Failed {
  readonly index: number;
  readonly code: string;
}

/** `ask` publishes the events of one request, joined by commas. Rejects with `details.failed`: which are not in the log. */
export async function publishInParts(
  events: readonly string[],
  maxChars: number,
  ask: (events: string) => Promise<unknown>,
): Promise<Published[]> {
  const published: Published[] = [];
  for (let at = 0; at < events.length; ) {
    const part = partFrom(events, at, maxChars);
    try {
      published.push(...((await ask(part.join(","))) as Published[]));
    } catch (error) {
      throw notAll(BusError.from(error), at, part.length, events.length);
    }
    at += part.length;
  }
  return published;
}

/** At least one. */
function partFrom(events: readonly string[], from: number, maxChars: number): readonly string[] {
  let to = from;
  let chars = 0;
  while (to < events.length && to - from < MAX_MANY) {
    chars += (events[to] as string).length;
    if (chars > maxChars && to > from) break;
    to++;
  }
  return events.slice(from, to);
}

function notAll(error: BusError, from: number, length: number, count: number): BusError {
  const told = error.details?.failed as readonly Failed[] | undefined;
  const inPart = told ?? Array.from({ length }, (_, index) => ({ index, code: error.code }));
  const failed = inPart.map(({ index, code }) => ({ index: from + index, code }));
  for (let index = from + length; index < count; index++) failed.push({ index, code: "ABORTED" });
  const { code, message, retryable } = error;
  return new BusError(code, message, { cause: error, retryable, details: { failed } });
}
