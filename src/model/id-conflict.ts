import { BusError } from "./errors.js";
import type { StoredEvent } from "./event.js";

/**
 * Ids are unique in a store, and whoever meets one that is taken may not be allowed to know of the topic in which it is: that
 * stands in the details alone, which a hub hands on to nobody.
 */
export function idConflict({ id, topic, partition, seq }: StoredEvent): BusError {
  return new BusError("ID_CONFLICT", `event ${id} exists with another topic, key or payload`, {
    details: { id, topic, partition, seq },
  });
}
