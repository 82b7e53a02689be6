/** The groups by which projectors feed views, as every process that shares the store knows them. */
import type { GroupRef } from "../../ports/groups.js";
import type { Registry } from "../../ports/registry.js";
import { groupOf } from "./changelog.js";
import { type Keeper, keepers, viewsOf } from "./kept-views.js";
import { notedViews } from "./view-definitions.js";

/** Of changelog and of transactional projectors. Builds of their views have groups of their own: see `isBuildOf`. */
export async function feedersOf(registry: Registry): Promise<readonly Keeper[]> {
  const views = await notedViews(registry);
  const changelogs = views.flatMap(({ view, topic, group }) => [
    { topic, group: groupOf(view, view) },
    { topic, group: groupOf(view, view, group) },
  ]);
  return [...changelogs, ...(await keepers(registry))];
}

/** Whether a group feeds a view, or a build of one. */
export async function feedsView(registry: Registry, { topic, group }: GroupRef): Promise<boolean> {
  const feeders = await feedersOf(registry);
  return feeders.some((feeder) => feeder.topic === topic && isBuildOf(group, feeder.group));
}

/** Whether a group is this feeder's, or one that feeds a later build of the same view. */
export function isBuildOf(group: string, feeder: string): boolean {
  return group.startsWith(feeder) && /^(__\d+)?$/.test(group.slice(feeder.length));
}

/** The views that events of this topic go into, sorted. */
export async function viewsFedBy(registry: Registry, topic: string): Promise<string[]> {
  const views = new Set<string>();
  for (const noted of await notedViews(registry)) if (noted.topic === topic) views.add(noted.view);
  for (const keeper of await keepers(registry))
    if (keeper.topic === topic) for (const view of await viewsOf(registry, keeper)) views.add(view);
  return [...views].sort();
}
