/** The groups by which projectors feed views, as every process that shares the store knows them. */
import type { GroupRef } from "../../ports/groups.js";
import type { Registry } from "../../ports/registry.js";
import { groupOf } from "./changelog.js";
import { type Keeper, keepers, viewsOf } from "./kept-views.js";
import { type NotedView, notedViews } from "./view-definitions.js";

export interface Feeder extends Keeper {
  /** It was chosen for the first build: later ones have groups that are called otherwise. */
  readonly isChosen?: true;
}

/** Of changelog and of transactional projectors. Builds of their views have groups of their own: see `feeds`. */
export async function feedersOf(registry: Registry): Promise<readonly Feeder[]> {
  return [...(await notedViews(registry)).flatMap(feedersOfView), ...(await keepers(registry))];
}

/** Of a view that a changelog projector makes. */
export function feedersOfView({ view, topic, group }: NotedView): readonly Feeder[] {
  const made: Feeder = { topic, group: groupOf(view, view) };
  return group === undefined ? [made] : [made, { topic, group, isChosen: true }];
}

/** Whether a group feeds a view, or a build of one. */
export async function feedsView(registry: Registry, { topic, group }: GroupRef): Promise<boolean> {
  const feeders = await feedersOf(registry);
  return feeders.some((feeder) => feeder.topic === topic && feeds(group, feeder));
}

/** Whether a group is this feeder's, or one that feeds a later build of the same view. */
export function feeds(group: string, feeder: Pick<Feeder, "group" | "isChosen">): boolean {
  return feeder.isChosen ? group === feeder.group : isBuildOf(group, feeder.group);
}

/** Whether a table, or a group, is the first build's, or that of a later one. */
export function isBuildOf(build: string, first: string): boolean {
  return build.startsWith(first) && /^(__\d+)?$/.test(build.slice(first.length));
}

/** The views that events of this topic go into, sorted. */
export async function viewsFedBy(registry: Registry, topic: string): Promise<string[]> {
  const views = new Set<string>();
  for (const noted of await notedViews(registry)) if (noted.topic === topic) views.add(noted.view);
  for (const keeper of await keepers(registry))
    if (keeper.topic === topic) for (const view of await viewsOf(registry, keeper)) views.add(view);
  return [...views].sort();
}
