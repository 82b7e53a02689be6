/** The copy of an event that a group gave up, as it stands in `dlq.<topic>` (P8). */
import type { DeadLetter } from "../model/dead-letter.js";
import { deadLetterId } from "../model/derived-id.js";
import { BusError, inBrief } from "../model/errors.js";
import type { EventDraft, EventRecord, StoredEvent } from "../model/event.js";
import { JsonBody } from "../model/json.js";
import { withoutRedrive } from "../model/redrive.js";
import type { Effect } from "./delivery-events.js";

export interface GivenUp {
  readonly event: StoredEvent;
  readonly group: string;
  readonly attempts: number;
  readonly error: string;
  /** What was thrown, where it is known. */
  readonly thrown: unknown;
  readonly nowMs: number;
  readonly hold?: DeadLetter["hold"];
  /** All of it is more than the store takes: see DeadLetter. */
  readonly incomplete?: true;
}

export function givenUp(
  { entry, event, attempts, error, hold }: Extract<Effect, { type: "bury" }>,
  group: string,
  nowMs: number,
): GivenUp {
  return {
    ...{ event, group, attempts, error, thrown: entry.story.detail, nowMs },
    ...(hold === undefined ? undefined : { hold }),
  };
}

/** The same (topic, group, event) always gives the same id: a repeated write adds nothing. */
export function deadLetterDraft(given: GivenUp): EventDraft {
  const { event, group, attempts, error, thrown, nowMs, hold, incomplete } = given;
  const letter: DeadLetter = {
    origin: { topic: event.topic, partition: event.partition, seq: event.seq, id: event.id, group },
    error: { message: error, ...describe(thrown) },
    attempts,
    ...(hold === undefined ? undefined : { hold }),
    event: incomplete ? outlineOf(event) : event.record,
    ...(incomplete && { incomplete }),
  };
  // An event that was redriven for one group is a letter for all who read them.
  const headers = incomplete ? undefined : withoutRedrive(event.meta?.headers);
  return {
    id: deadLetterId(event.topic, group, event.id),
    ts: nowMs,
    key: event.key,
    meta: {
      headers: { ...headers, "x-dead-letter-topic": event.topic, "x-dead-letter-group": group },
      caused_by: [event.id],
    },
    body: JsonBody.ofText(JSON.stringify(letter)),
    freshId: false,
  };
}

/** For those who listen to troubles. What the handler said may hold anything, so it stands in the cause alone. */
export function givenUpTrouble({ event, group, attempts, error, thrown }: GivenUp): BusError {
  const { id, topic } = event;
  const tries = attempts === 1 ? "one try" : `${attempts} tries`;
  const said = `${group} gave up event ${id} of ${topic} after ${tries}; it is a dead letter now`;
  return new BusError("HANDLER_FAILED", said, {
    cause: thrown instanceof Error ? thrown : error,
    details: { id, attempts },
  });
}

/** What has its bounds whatever the limits of the bus. */
function outlineOf({ id, topic, partition, seq, ts, key }: StoredEvent): EventRecord {
  return { id, topic, partition, seq, ts, ...(key !== undefined && { key }), payload: null };
}

/** Whatever a handler throws, its event can be buried: what cannot be read, or is no text, is left out. */
function describe(thrown: unknown): Partial<DeadLetter["error"]> {
  try {
    if (!(thrown instanceof Error)) return {};
    const { name, stack, code } = thrown as { name: unknown; stack?: unknown; code?: unknown };
    return {
      ...(typeof name === "string" ? { name: inBrief(name) } : undefined),
      ...(typeof code === "string" ? { code: inBrief(code) } : undefined),
      ...(typeof stack === "string" ? { stack: stack.slice(0, 4_000) } : undefined),
    };
  } catch {
    return {};
  }
}
