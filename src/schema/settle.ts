/**
 * Which of several alternatives a value means can be up to code: two alternatives overlap, and a refinement decides
 * about one of them. Nobody else can then say which members were declared, so nothing may be left out of such a
 * value, and its objects keep what they do not declare.
 */
import { disjoint } from "./disjoint.js";
import type { Node, Property, RefNode, UnionNode } from "./tree.js";
import { contains, isStripping } from "./walk.js";

/** The tree with every such union's objects keeping what they do not declare. */
export function settle(root: Node): Node {
  const both = contains(root, isStripping) && contains(root, ({ kind }) => kind === "opaque");
  if (!both || !contains(root, (node) => node.kind === "union" && isUndecided(node))) return root;
  const keeping = new Rewriter((node) => (node.kind === "object" ? { ...node, undeclared: "keep" } : node));
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

/** A copy of a tree with a change at every node, recursion included. */
class Rewriter {
  readonly #change: (node: Node) => Node;
  readonly #done = new Map<Node, Node>();

  constructor(change: (node: Node) => Node) {
    this.#change = change;
  }

  rewrite(node: Node): Node {
    const done = this.#done.get(node);
    if (done !== undefined) return done;
    if (node.kind === "ref") return this.#rewriteRef(node);
    const rewritten = this.#change(this.#rewriteParts(node));
    this.#done.set(node, rewritten);
    return rewritten;
  }

  #rewriteRef(node: RefNode): Node {
    const copy: RefNode = { ...node, target: { node: node.target.node } };
    this.#done.set(node, copy);
    copy.target.node = this.rewrite(node.target.node);
    return copy;
  }

  #rewriteParts(node: Node): Node {
    const inner = (part: Node): Node => this.rewrite(part);
    switch (node.kind) {
      case "array":
        return { ...node, prefix: node.prefix.map(inner), rest: inner(node.rest) };
      case "object": {
        const properties = [...node.properties].map(([name, property]): [string, Property] => [
          name,
          { ...property, node: inner(property.node) },
        ]);
        const patterns = node.patterns.map((pattern) => ({ ...pattern, node: inner(pattern.node) }));
        return { ...node, properties: new Map(properties), patterns, additional: inner(node.additional) };
      }
      case "union":
      case "intersection":
        return { ...node, members: node.members.map(inner) };
      default:
        return node;
    }
  }
}
