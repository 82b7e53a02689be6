/** Which group feeds which view: projectors are named after what they make, and each build of a rebuild has a number. Pure. */
import type { ViewInfo } from "../../data/shapes.js";

const NAME = /^changelog:(.+?)(?:__(\d+))?$/;

/** The view that a group feeds, if its name says so. */
export function viewOf(group: string): string | null {
  return NAME.exec(group)?.[1] ?? null;
}

/** Of the groups that fed its builds the one that feeds it now: one that rests does not, whatever its number. */
export function feederOf<G extends { readonly group: string; readonly resting?: true }>(
  { view }: Pick<ViewInfo, "view">,
  groups: readonly G[],
): G | undefined {
  const own = groups.filter(({ group, resting }) => resting !== true && viewOf(group) === view);
  return own.sort((a, b) => build(b.group) - build(a.group))[0];
}

function build(group: string): number {
  return Number(NAME.exec(group)?.[2] ?? 0);
}
