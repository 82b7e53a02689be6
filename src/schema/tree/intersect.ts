/** The common part of nodes: merged into one where that is exact, kept side by side where it is not. */
import { accepts, acceptsString } from "./accept.js";
import { isBudgetUsedUp, takeSteps } from "./comparison-budget.js";
import {
  ANY,
  type ArrayNode,
  arrayOf,
  type EnumNode,
  enumOf,
  NEVER,
  type Node,
  type NumberNode,
  numberOf,
  type ObjectNode,
  objectOf,
  type Property,
  type StringNode,
  stringOf,
  type UnionNode,
  unionOf,
} from "./tree.js";
import { contains, isStripping } from "./walk.js";

/** Alternatives that a product of unions may have before it is left alone. */
const MAX_ALTERNATIVES = 64;

export function intersect(...nodes: readonly Node[]): Node {
  return nodes.reduce<Node>(intersectTwo, ANY);
}

function intersectTwo(a: Node, b: Node): Node {
  if (a === b || b.kind === "any") return a;
  if (a.kind === "any") return b;
  if (a.kind === "never" || b.kind === "never") return NEVER;
  if (a.kind === "intersection")
    return b.kind === "intersection" ? b.members.reduce(addMember, a) : addMember(a, b);
  if (b.kind === "intersection") return b.members.reduce(addMember, a);
  return merge(a, b) ?? sideBySide(a, b);
}

function sideBySide(...members: readonly Node[]): Node {
  return { kind: "intersection", members };
}

/** Merges `node` with the first member that takes it; else it becomes a member. */
function addMember(whole: Node, node: Node): Node {
  if (whole.kind !== "intersection") return intersectTwo(whole, node);
  for (const [i, member] of whole.members.entries()) {
    const merged = member === node ? member : merge(member, node);
    if (merged === undefined) continue;
    return intersect(merged, ...whole.members.filter((_, j) => j !== i));
  }
  return sideBySide(...whole.members, node);
}

/** undefined: there is no single node for it, or making one is more work than a comparison may be. */
function merge(a: Node, b: Node): Node | undefined {
  if (!takeSteps()) return undefined;
  if (a.kind === "union") return distribute(a, b);
  if (b.kind === "union") return distribute(b, a);
  if (a.kind === "opaque" && b.kind === "opaque" && a.key !== undefined && a.key === b.key) return a;
  if (!isPlain(a) || !isPlain(b)) return undefined;
  if (a.kind === "enum") return filter(a, b);
  if (b.kind === "enum") return filter(b, a);
  if (a.kind === "number" && b.kind === "number") return mergeNumbers(a, b);
  if (a.kind === "string" && b.kind === "string") return mergeStrings(a, b);
  if (a.kind === "array" && b.kind === "array") return mergeArrays(a, b);
  if (a.kind === "object" && b.kind === "object") return mergeOnce(a, b);
  return NEVER;
}

const merged = new WeakMap<ObjectNode, WeakMap<ObjectNode, { readonly node: Node | undefined }>>();

/** Objects that many places share have the same parts in common everywhere: without this, twice as many at each level. */
function mergeOnce(a: ObjectNode, b: ObjectNode): Node | undefined {
  const withA = merged.get(a) ?? new WeakMap<ObjectNode, { readonly node: Node | undefined }>();
  merged.set(a, withA);
  const found = withA.get(b) ?? { node: mergeObjects(a, b) };
  if (!isBudgetUsedUp()) withA.set(b, found);
  return found.node;
}

function isPlain(node: Node): boolean {
  return node.kind !== "ref" && node.kind !== "opaque" && node.kind !== "intersection";
}

function distribute(union: UnionNode, other: Node): Node | undefined {
  const width = other.kind === "union" ? other.members.length : 1;
  if (union.members.length * width > MAX_ALTERNATIVES || other.kind === "opaque" || other.kind === "ref")
    return undefined;
  return unionOf(union.members.map((member) => intersectTwo(member, other)));
}

function filter(listed: EnumNode, other: Node): Node | undefined {
  const answers = listed.values.map((value) => accepts(other, value, "read"));
  if (answers.includes(undefined)) return undefined;
  return enumOf(listed.values.filter((_, i) => answers[i]));
}

function mergeNumbers(a: NumberNode, b: NumberNode): Node {
  const lower = a.min > b.min || (a.min === b.min && a.minExclusive) ? a : b;
  const upper = a.max < b.max || (a.max === b.max && a.maxExclusive) ? a : b;
  return numberOf({
    integer: a.integer || b.integer,
    min: lower.min,
    minExclusive: lower.minExclusive,
    max: upper.max,
    maxExclusive: upper.maxExclusive,
    multiplesOf: [...a.multiplesOf, ...b.multiplesOf],
  });
}

function mergeStrings(a: StringNode, b: StringNode): StringNode | typeof NEVER {
  return stringOf({
    minLength: Math.max(a.minLength, b.minLength),
    maxLength: Math.min(a.maxLength, b.maxLength),
    patterns: [...a.patterns, ...b.patterns],
    formats: [...a.formats, ...b.formats],
  });
}

function mergeArrays(a: ArrayNode, b: ArrayNode): Node {
  const length = Math.max(a.prefix.length, b.prefix.length);
  const at = (node: ArrayNode, i: number): Node => node.prefix[i] ?? node.rest;
  return arrayOf({
    prefix: Array.from({ length }, (_, i) => intersect(at(a, i), at(b, i))),
    rest: intersect(a.rest, b.rest),
    minItems: Math.max(a.minItems, b.minItems),
    maxItems: Math.min(a.maxItems, b.maxItems),
    unique: a.unique || b.unique,
  });
}

function mergeObjects(a: ObjectNode, b: ObjectNode): Node | undefined {
  // A key that only one side's pattern matches would need the other side's `additional`: one node cannot say that.
  if (a.patterns.length > 0 && b.additional.kind !== "any") return undefined;
  if (b.patterns.length > 0 && a.additional.kind !== "any") return undefined;
  // A name under two patterns: what the one's objects leave out the other's may declare.
  const overlapping = a.patterns.length > 0 && b.patterns.length > 0;
  if (overlapping && (contains(a, isStripping) || contains(b, isStripping))) return undefined;
  const properties = new Map<string, Property>();
  for (const name of new Set([...a.properties.keys(), ...b.properties.keys()])) {
    const here = memberOf(a, name);
    const there = memberOf(b, name);
    if (here === undefined || there === undefined) return undefined;
    properties.set(name, { node: intersect(here.node, there.node), presence: stricter(here, there) });
  }
  return objectOf({
    properties,
    patterns: [...a.patterns, ...b.patterns],
    additional: intersect(a.additional, b.additional),
    undeclared: a.undeclared === "strip" && b.undeclared === "strip" ? "strip" : "keep",
    minProperties: Math.max(a.minProperties, b.minProperties),
    maxProperties: Math.min(a.maxProperties, b.maxProperties),
  });
}

function stricter(a: Property, b: Property): Property["presence"] {
  if (a.presence === "required" || b.presence === "required") return "required";
  return a.presence === "unsure" || b.presence === "unsure" ? "unsure" : "optional";
}

/** What an object as such (not its writer) says of the member `name`; undefined if a format decides. */
export function memberOf(object: ObjectNode, name: string): Property | undefined {
  const declared = object.properties.get(name);
  if (declared !== undefined) return declared;
  const answers = object.patterns.map(({ keys }) => acceptsString(keys, name));
  if (answers.includes(undefined)) return undefined;
  const matching = object.patterns.filter((_, i) => answers[i]);
  const node =
    matching.length === 0 ? object.additional : intersect(...matching.map((pattern) => pattern.node));
  return { node, presence: "optional" };
}
