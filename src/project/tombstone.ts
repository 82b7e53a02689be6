/** What says that a key is gone: payload `null`, or an object with `_deleted: true`. */
import type { StoredEvent } from "../model/event.js";

export const DEFAULT_TOMBSTONE_RETENTION_MS = 86_400_000;

export function isTombstone(payload: unknown): boolean {
  return payload === null || (typeof payload === "object" && (payload as Marked)._deleted === true);
}

export function isTombstoneEvent(event: StoredEvent): boolean {
  return isTombstone(event.body.value);
}

interface Marked {
  readonly _deleted?: unknown;
}
