/**
 * A group that goes, with its pause: one that stays behind would hold up a group of the same name later. So the pause goes first; whoever
 * dies in between leaves a group that can be removed again.
 */
import { BusError } from "../model/errors.js";
import { type GroupRef, groupKey } from "../ports/groups.js";
import type { Registry } from "../ports/registry.js";
import type { Store } from "../ports/store.js";

/** Names of the tokens that say which groups are paused begin with it. */
export const PAUSE_PREFIX = "group-pause:";

export function pauseToken(ref: GroupRef): string {
  return PAUSE_PREFIX + groupKey(ref);
}

export async function removeGroup({ registry, groups }: Store, ref: GroupRef): Promise<void> {
  await forgetPause(registry, pauseToken(ref));
  await groups.remove(ref);
}

async function forgetPause(registry: Registry, name: string): Promise<void> {
  for (;;) {
    const token = await registry.token(name);
    if (token === null) return;
    try {
      await registry.putToken(name, null, { expected: token.revision });
    } catch (error) {
      if (!BusError.is(error, "WRITE_CONFLICT")) throw error;
    }
  }
}
