/** The group that feeds a view: projectors are named after what they make. */
import type { GroupLag, ViewInfo } from "../../data/shapes.js";

export function feederOf(
  info: Pick<ViewInfo, "view" | "topic">,
  groups: readonly GroupLag[],
): GroupLag | undefined {
  const fits = (group: string): boolean => group.replace(/__\d+$/, "") === `changelog:${info.view}`;
  const own = groups.filter(({ group }) => fits(group));
  return own.sort((a, b) => (a.group < b.group ? 1 : -1))[0];
}
