/**
 * Whether a document of a view may have a list at a field. No index finds lists, for it has their elements; but it knows whether it ever
 * took one in. The server tells that with a plan, for which it looks at no document.
 */
import type { Collection, Document } from "mongodb";
import type { ViewRow } from "../collections.js";

/** True as well where no index begins with the field. */
export async function mayHoldLists(rows: Collection<ViewRow>, path: string): Promise<boolean> {
  const plan = await rows.find({ [path]: { $type: "object" } }).explain("queryPlanner");
  const leaves: Document[] = [];
  for (const winning of winningPlans(plan)) collectLeaves(winning, leaves);
  return leaves.length === 0 || !leaves.every((leaf) => isOfIndexWithoutLists(leaf, path));
}

/** One, or one for each shard; in a member of its own since the server runs plans by slots. */
function winningPlans({ queryPlanner }: Document): Document[] {
  const winning = (queryPlanner as Document | undefined)?.winningPlan as Document | undefined;
  if (winning === undefined) return [];
  const shards = winning.shards as Document[] | undefined;
  const plans = shards?.map(({ winningPlan }) => winningPlan as Document) ?? [winning];
  return plans.map((plan) => (plan.queryPlan as Document | undefined) ?? plan);
}

function collectLeaves(stage: Document, leaves: Document[]): void {
  const inner =
    (stage.inputStages as Document[] | undefined) ?? [stage.inputStage as Document].filter(Boolean);
  if (inner.length === 0) leaves.push(stage);
  for (const one of inner) collectLeaves(one, leaves);
}

/** What a partial index leaves out it cannot speak for. */
function isOfIndexWithoutLists({ stage, isPartial, multiKeyPaths }: Document, path: string): boolean {
  const found: unknown = (multiKeyPaths as Document | undefined)?.[path];
  return stage === "IXSCAN" && isPartial !== true && Array.isArray(found) && found.length === 0;
}
