/**
 * How events are called in a history. Every simulated event carries its own name in its payload, so that histories read
 * well and an event that got in twice under two ids still shows as one name in two places.
 */
import type { StoredEvent } from "../../model/event.js";
import type { EffectOrigin, GroupPlace, LoggedEvent } from "../history/index.js";

export interface SimulatedPayload {
  readonly name: string;
  /** Counts a producer's events. */
  readonly n: number;
  readonly effect?: EffectOrigin;
}

interface Letter {
  readonly origin: GroupPlace & { readonly seq: number; readonly id: string };
  readonly event: { readonly payload: SimulatedPayload };
}

/** A dead letter's origin, with the name of the event it is a copy of; undefined for any other event. */
export function letterOrigin(event: StoredEvent): (GroupPlace & { seq: number; id: string }) | undefined {
  const letter = event.body.value as Partial<Letter> | null;
  if (letter?.origin === undefined || letter.event === undefined) return undefined;
  const { group, topic, partition, seq } = letter.origin;
  return { group, topic, partition, seq, id: letter.event.payload.name };
}

export function nameOf(event: StoredEvent): string {
  return (event.body.value as Partial<SimulatedPayload> | null)?.name ?? event.id;
}

export function loggedEvent(event: StoredEvent): LoggedEvent {
  const { seq, key } = event;
  const origin = letterOrigin(event);
  const effect = (event.body.value as Partial<SimulatedPayload> | null)?.effect;
  return {
    seq,
    id: nameOf(event),
    ...(key !== undefined && { key }),
    ...(effect !== undefined && { effect }),
    ...(origin !== undefined && {
      deadLetter: { group: origin.group, topic: origin.topic, id: origin.id },
    }),
  };
}
