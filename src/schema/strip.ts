/**
 * A value without the members that its schema does not declare and leaves out (Zod's plain objects): what a publisher
 * writes. The value itself if nothing is left out. Where it cannot be told what is declared, nothing is.
 */

import type { JsonValue } from "../model/json.js";
import { accepts, acceptsString, isObject } from "./accept.js";
import { intersect } from "./intersect.js";
import { settle } from "./settle.js";
import { deref, type IntersectionNode, type Node, type ObjectNode, type UnionNode } from "./tree.js";

/** The value is one that the schema accepts. */
export function stripUndeclared(node: Node, value: JsonValue): JsonValue {
  switch (node.kind) {
    case "object":
      return isObject(value) ? stripMembers(node, value) : value;
    case "array":
      return Array.isArray(value) ? stripItems((i) => node.prefix[i] ?? node.rest, value) : value;
    case "union": {
      const meant = alternativeOf(node, value);
      return meant === undefined ? value : stripUndeclared(meant, value);
    }
    case "intersection": {
      const whole = wholeOf(node);
      return whole.kind === "intersection" ? value : stripUndeclared(whole, value);
    }
    case "ref":
      return stripUndeclared(deref(node), value);
    default:
      return value;
  }
}

function stripItems(nodeAt: (i: number) => Node, items: readonly JsonValue[]): JsonValue {
  let copy: JsonValue[] | undefined;
  for (const [i, item] of items.entries()) {
    const stripped = stripUndeclared(nodeAt(i), item);
    if (stripped === item) continue;
    copy ??= [...items];
    copy[i] = stripped;
  }
  return copy ?? items;
}

function stripMembers(node: ObjectNode, value: { readonly [name: string]: JsonValue }): JsonValue {
  // Its JSON form is made by its own code, later.
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return value;
  let copy: Record<string, JsonValue> | undefined;
  for (const name of Object.keys(value)) {
    const member = value[name] as JsonValue;
    const of = memberNode(node, name);
    const stripped = of === undefined ? undefined : stripUndeclared(of, member);
    if (stripped === member) continue;
    copy ??= { ...value };
    if (stripped === undefined) delete copy[name];
    else copy[name] = stripped;
  }
  return copy ?? value;
}

/** undefined: the member is left out. */
function memberNode(node: ObjectNode, name: string): Node | undefined {
  const declared = node.properties.get(name);
  if (declared !== undefined) return declared.node;
  const matching = node.patterns.find(({ keys }) => acceptsString(keys, name) !== false);
  if (matching !== undefined) return matching.node;
  return node.undeclared === "strip" ? undefined : node.additional;
}

/** The alternative that the value means: the first that surely accepts it, unless code may have chosen another before. */
function alternativeOf(union: UnionNode, value: JsonValue): Node | undefined {
  const answers = union.members.map((member) => accepts(member, value, "read"));
  const possible = union.members.filter((_, i) => answers[i] !== false);
  const sure = union.members.find((_, i) => answers[i] === true);
  return possible.length === 1 || possible[0] === sure ? possible[0] : undefined;
}

const wholes = new WeakMap<IntersectionNode, Node>();

/** What is known of an intersection, in one node if that can be: code that only refuses leaves nothing out. */
export function wholeOf(node: IntersectionNode): Node {
  let whole = wholes.get(node);
  if (whole === undefined) {
    whole = settle(intersect(...node.members.filter(({ kind }) => kind !== "opaque").map(deref)));
    wholes.set(node, whole);
  }
  return whole;
}
