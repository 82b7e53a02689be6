/**
 * Which of several alternatives a value means can be up to code: two alternatives overlap, and a refinement decides
 * about one of them. Nobody else can then say which members were declared, so nothing may be left out of such a
 * value, and its objects keep what they do not declare.
 */
import { disjoint } from "./disjoint.js";
import { keep, Rewriter } from "./rewrite.js";
import type { Node, UnionNode } from "./tree.js";
import { contains, isStripping } from "./walk.js";

/** The tree with every such union's objects keeping what they do not declare. */
export function settle(root: Node): Node {
  const both = contains(root, isStripping) && contains(root, ({ kind }) => kind === "opaque");
  if (!both || !contains(root, (node) => node.kind === "union" && isUndecided(node))) return root;
  const keeping = new Rewriter(keep);
  return new Rewriter((node) =>
    node.kind === "union" && isUndecided(node) ? keeping.rewrite(node) : node,
  ).rewrite(root);
}

function isUndecided(union: UnionNode): boolean {
  return union.members.some((member) => {
    const coded = contains(member, ({ kind }) => kind === "opaque");
    return coded && union.members.some((other) => other !== member && !disjoint(member, other));
  });
}
