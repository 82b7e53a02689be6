/**
 * Groups that fed the build of a view which a rebuild replaced. That build stays for the way back, and its group with it: nobody
 * runs it, and it falls behind, as it should.
 */
import type { GroupRef } from "../../ports/groups.js";
import type { Registry } from "../../ports/registry.js";
import { groupOf } from "./changelog.js";
import { buildGroup, keeperName, keepers } from "./kept-views.js";
import { notedViews } from "./view-definitions.js";
import { previousBuilds } from "./view-pointer.js";

export async function restingGroups(registry: Registry): Promise<readonly GroupRef[]> {
  const previous = await previousBuilds(registry);
  if (previous.size === 0) return [];
  const resting: GroupRef[] = [];
  for (const { view, topic, group } of await notedViews(registry)) {
    const build = previous.get(view);
    if (build !== undefined) resting.push({ topic, group: groupOf(view, build, group) });
  }
  for (const keeper of await keepers(registry)) {
    const build = previous.get(keeperName(keeper));
    if (build !== undefined) resting.push({ topic: keeper.topic, group: buildGroup(keeper, build) });
  }
  return resting;
}
