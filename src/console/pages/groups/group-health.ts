/** Whether anybody has to look after a group. Pure. */
import type { WhyReport } from "../../data/shapes.js";
import { mayBeBehind } from "../../data/stats-past.js";

/** A little behind is how it goes. */
const LITTLE_SECONDS = 20;

type Report = Pick<WhyReport, "group" | "lag" | "lagSeconds" | "resting"> & {
  readonly blocked: readonly unknown[];
};

/** Nothing holds it up, and it is about where it should be: one that rests, or works in rounds, may be anywhere. */
export function goesWell(report: Report): boolean {
  const { blocked, lag, lagSeconds } = report;
  return blocked.length === 0 && (lag === 0 || lagSeconds < LITTLE_SECONDS || mayBeBehind(report));
}
