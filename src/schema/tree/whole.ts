/**
 * Intersections as wholes. Going into a recursive schema makes the same intersections anew at every turn; the same parts
 * are one whole here, so that it is known when it is met again.
 */
import { isBudgetUsedUp } from "./comparison-budget.js";
import { identityOf } from "./identity.js";
import { intersect } from "./intersect.js";
import { settle } from "./settle.js";
import { ANY, deref, type IntersectionNode, type Node } from "./tree.js";

/** By the member that was known first, then by all of them. */
const wholes = new WeakMap<Node, Map<string, Node>>();

/** What is known of an intersection, in one node if that can be: code that only refuses leaves nothing out. */
export function wholeOf(node: IntersectionNode): Node {
  const known = new Set(node.members.filter(({ kind }) => kind !== "opaque").map(deref));
  const members = [...known].sort((a, b) => identityOf(a) - identityOf(b));
  const [first] = members;
  if (first === undefined) return ANY;
  const sharing = wholes.get(first) ?? new Map<string, Node>();
  wholes.set(first, sharing);
  const key = members.map(identityOf).join();
  const whole = sharing.get(key) ?? settle(intersect(...members));
  // Where the budget ran out, less of it was merged than can be.
  if (!isBudgetUsedUp()) sharing.set(key, whole);
  return whole;
}
