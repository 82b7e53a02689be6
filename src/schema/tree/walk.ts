/** Questions about all parts of a tree, recursive ones once. */
import { takeSteps } from "./comparison-budget.js";
import type { Node } from "./tree.js";

/** Whether the node or any part of it is as `test` says. */
export function contains(node: Node, test: (part: Node) => boolean): boolean {
  const seen = new Set([node]);
  for (const part of seen) {
    takeSteps();
    if (test(part)) return true;
    for (const child of childrenOf(part)) seen.add(child);
  }
  return false;
}

export function isStripping(node: Node): boolean {
  return node.kind === "object" && node.undeclared === "strip";
}

function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case "array":
      return [...node.prefix, node.rest];
    case "object":
      return [
        ...[...node.properties.values()].map((property) => property.node),
        ...node.patterns.map((pattern) => pattern.node),
        node.additional,
      ];
    case "union":
    case "intersection":
      return node.members;
    case "ref":
      return [node.target.node];
    default:
      return [];
  }
}
