/** A write that is tried again until it is done, or the lease under which it is made is lost. */
import { BusError } from "../model/errors.js";
import type { Pauses } from "./pauses.js";

export interface Insisting {
  /** Their end is its end, too. */
  readonly pauses: Pauses;
  /** It failed, and will be tried again. */
  readonly onTrouble: (error: BusError) => void;
  /** Somebody else owns the partition, or the store is closed. */
  readonly onLost: () => void;
}

/** False if it was not done. With an `error`, it has been tried once and ended with that. */
export async function insist(
  attempt: () => Promise<void>,
  { pauses, onTrouble, onLost }: Insisting,
  error?: unknown,
): Promise<boolean> {
  let failed = error;
  for (let failures = 1; !pauses.isOver; failures++) {
    try {
      if (failed !== undefined) throw failed;
      await attempt();
      return true;
    } catch (thrown) {
      failed = undefined;
      if (BusError.is(thrown, "LEASE_LOST") || BusError.is(thrown, "CLOSED")) {
        onLost();
        return false;
      }
      onTrouble(BusError.from(thrown, "STORE_UNAVAILABLE"));
      await pauses.after(failures);
    }
  }
  return false;
}
