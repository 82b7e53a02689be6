/**
 * Event ids. A bus makes UUIDv7 (time-ordered, growing within a process); callers may bring any short string. Ids
 * derived from others are UUIDv5, so that the same cause gives the same id on every machine (P8, P9).
 */
import { v5 } from "uuid";

const NAMESPACE = "6f1d3c3e-52a4-5d0b-9d6e-2b8f0c7a41e9";

/** Id of the `index`-th event that `group`'s handler emits for the event `sourceId`. */
export function derivedId(group: string, sourceId: string, index: number | string): string {
  return v5(JSON.stringify([group, sourceId, String(index)]), NAMESPACE);
}

/** Id of the one dead letter that `group` may make of the event `sourceId`. */
export function deadLetterId(topic: string, group: string, sourceId: string): string {
  return v5(JSON.stringify(["dead-letter", topic, group, sourceId]), NAMESPACE);
}

/** The time inside a UUIDv7, or undefined for any other id. */
export function idTimeMs(id: string): number | undefined {
  if (id.length !== 36 || id.charCodeAt(14) !== 0x37 || id.charCodeAt(8) !== 0x2d) return undefined;
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  return Number.isNaN(ms) ? undefined : ms;
}
