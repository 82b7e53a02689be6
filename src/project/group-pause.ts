/** Whether a group is paused, as it is written down in the store; and groups that go, with that, or begin anew. */
import { BusError } from "../model/errors.js";
import type { JsonValue } from "../model/json.js";
import { type GroupRef, groupKey, START_CURSOR } from "../ports/groups.js";
import type { Registry } from "../ports/registry.js";
import type { Store } from "../ports/store.js";

export interface GroupPause extends GroupRef {
  readonly by: string;
  readonly sinceMs: number;
}

const PREFIX = "group-pause:";

export async function groupPauses(registry: Registry): Promise<readonly GroupPause[]> {
  return [...(await registry.tokens(PREFIX)).values()].map(({ value }) => value as unknown as GroupPause);
}

/** Null takes it away. False if it was so already. */
export async function putGroupPause(
  registry: Registry,
  ref: GroupRef,
  pause: GroupPause | null,
): Promise<boolean> {
  const name = PREFIX + groupKey(ref);
  for (;;) {
    const token = await registry.token(name);
    if ((token === null) === (pause === null)) return false;
    try {
      await registry.putToken(name, pause as JsonValue | null, { expected: token?.revision ?? 0 });
      return true;
    } catch (error) {
      if (!BusError.is(error, "WRITE_CONFLICT")) throw error;
    }
  }
}

/** The pause goes first: one that stays behind would hold up a group of the same name later. Whoever dies in between leaves a group. */
export async function removeGroup({ registry, groups }: Store, ref: GroupRef): Promise<void> {
  await putGroupPause(registry, ref, null);
  await groups.remove(ref);
}

/** Moves a group, and whoever works for it, to the first event there is. */
export async function restartGroup({ store }: { readonly store: Store }, ref: GroupRef): Promise<void> {
  for (const { partition, low } of await store.log.heads(ref.topic))
    await store.groups.move({ ...ref, partition }, { ...START_CURSOR, floor: low - 1, mark: low - 1 });
}
