/** Whether two nodes surely have no value in common. "No" may also mean that it was not found out. */

import { findText } from "../patterns/language.js";
import { type Answer, accepts } from "./accept.js";
import { takeSteps } from "./comparison-budget.js";
import { memberOf } from "./intersect.js";
import {
  type ArrayNode,
  deref,
  type Node,
  type NumberNode,
  type ObjectNode,
  type StringNode,
} from "./tree.js";

/** Refs are followed this deep: discriminators are near the top. */
const MAX_DEPTH = 6;

export function disjoint(a: Node, b: Node, depth = 0): boolean {
  if (a.kind === "never" || b.kind === "never") return true;
  if (!takeSteps()) return false;
  if (depth > MAX_DEPTH || a.kind === "any" || b.kind === "any") return false;
  if (a.kind === "ref") return disjoint(deref(a), b, depth + 1);
  if (b.kind === "ref") return disjoint(a, deref(b), depth + 1);
  if (a.kind === "union") return a.members.every((member) => disjoint(member, b, depth));
  if (b.kind === "union") return b.members.every((member) => disjoint(a, member, depth));
  if (a.kind === "intersection") return a.members.some((member) => disjoint(member, b, depth));
  if (b.kind === "intersection") return b.members.some((member) => disjoint(a, member, depth));
  if (a.kind === "opaque" || b.kind === "opaque") return false;
  if (a.kind === "enum") return a.values.every((value): Answer => accepts(b, value, "read") === false);
  if (b.kind === "enum") return disjoint(b, a, depth);
  if (a.kind === "number" && b.kind === "number") return apart(a, b) || apart(b, a);
  if (a.kind === "string" && b.kind === "string") return noText(a, b);
  if (a.kind === "array" && b.kind === "array") return disjointArrays(a, b, depth);
  if (a.kind === "object" && b.kind === "object") return disjointObjects(a, b, depth);
  return true;
}

/** Whether all of `low` lies below all of `high`. */
function apart(low: NumberNode, high: NumberNode): boolean {
  return low.max < high.min || (low.max === high.min && (low.maxExclusive || high.minExclusive));
}

function noText(a: StringNode, b: StringNode): boolean {
  const query = {
    matches: [...a.patterns, ...b.patterns],
    misses: [],
    minLength: Math.max(a.minLength, b.minLength),
    maxLength: Math.min(a.maxLength, b.maxLength),
  };
  return findText(query).type === "none";
}

function disjointArrays(a: ArrayNode, b: ArrayNode, depth: number): boolean {
  if (a.maxItems < b.minItems || b.maxItems < a.minItems) return true;
  const sure = Math.min(Math.max(a.minItems, b.minItems), Math.max(a.prefix.length, b.prefix.length) + 1);
  for (let i = 0; i < sure; i++) {
    if (disjoint(a.prefix[i] ?? a.rest, b.prefix[i] ?? b.rest, depth + 1)) return true;
  }
  return false;
}

/** A member that one requires, and of which the other takes nothing that the one takes. */
function disjointObjects(a: ObjectNode, b: ObjectNode, depth: number): boolean {
  const barred = (needing: ObjectNode, other: ObjectNode): boolean =>
    [...needing.properties].some(([name, property]) => {
      if (property.presence !== "required") return false;
      const there = memberOf(other, name);
      return there !== undefined && disjoint(property.node, there.node, depth + 1);
    });
  return (
    a.maxProperties < b.minProperties || b.maxProperties < a.minProperties || barred(a, b) || barred(b, a)
  );
}
