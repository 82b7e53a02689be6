import type { StoredEvent } from "../model/event.js";

/** About what an event takes in a store, or more: in some its headers count, in others they do not. */
export function mostBytes({ size, meta }: StoredEvent): number {
  return meta === undefined ? size : size + JSON.stringify(meta).length;
}
