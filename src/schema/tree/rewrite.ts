/** Copies of trees with a change at every node, recursive ones included. */
import { NEVER, type Node, type Property, type RefNode } from "./tree.js";

/** An object that keeps what it does not declare. */
export function keep(node: Node): Node {
  return node.kind === "object" ? { ...node, undeclared: "keep" } : node;
}

/** All that a schema accepts, and all that it writes, each as a tree in which nothing is left out. */
export function formsOf(tree: Node): { readonly read: Node; readonly written: Node } {
  const close = (node: Node): Node =>
    node.kind === "object" && node.undeclared === "strip"
      ? { ...node, undeclared: "keep", additional: NEVER }
      : node;
  return { read: new Rewriter(keep).rewrite(tree), written: new Rewriter(close).rewrite(tree) };
}

export class Rewriter {
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
