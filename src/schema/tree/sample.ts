/**
 * Values that a node takes, as its writer would write them: a few, simple ones first, each at least not refused. The
 * stuff of counter-examples. None are found for sets that are empty, and for some that are merely hard.
 */
import type { JsonValue } from "../../model/json.js";
import { findText } from "../patterns/language.js";
import { accepts, sameJson } from "./accept.js";
import { isBudgetUsedUp, takeSteps } from "./comparison-budget.js";
import { formatExamples } from "./format.js";
import {
  type ArrayNode,
  additionalOf,
  deref,
  type Node,
  type NumberNode,
  type ObjectNode,
  type StringNode,
} from "./tree.js";

/** Recursive schemas are followed this deep. */
const MAX_DEPTH = 6;
const MAX_SAMPLES = 8;
/** Longer arrays are not spelled out. */
const MAX_ITEMS = 1_000;

const PLAIN_MEMBER = { enumerable: true, configurable: true, writable: true };
const ANYTHING: readonly JsonValue[] = [null, "a", 0, true, {}, [], "", 0.5];
const KINDS = [
  "enum",
  "number",
  "string",
  "array",
  "object",
  "intersection",
  "ref",
  "opaque",
  "union",
  "any",
  "never",
];

/** Found once, for as long as the tree lives. Nothing found is not kept: it may be that only depth ran out, or the budget. */
const remembered = new WeakMap<Node, readonly JsonValue[]>();

export function samples(node: Node, depth = 0): readonly JsonValue[] {
  const known = remembered.get(node);
  if (known !== undefined) return known;
  if (depth > MAX_DEPTH || !takeSteps()) return [];
  const found: JsonValue[] = [];
  for (const value of candidates(node, depth)) {
    if (found.length >= MAX_SAMPLES) break;
    if (accepts(node, value, "write") !== false && !found.some((other) => sameJson(other, value)))
      found.push(value);
  }
  // What is left unlooked at is not known to be a value.
  if (isBudgetUsedUp()) return [];
  if (found.length > 0) remembered.set(node, found);
  return found;
}

export function sample(node: Node, depth = 0): JsonValue | undefined {
  return samples(node, depth)[0];
}

function candidates(node: Node, depth: number): Iterable<JsonValue> {
  switch (node.kind) {
    case "any":
    case "opaque":
      return ANYTHING;
    case "never":
      return [];
    case "enum":
      return node.values;
    case "number":
      return numbers(node);
    case "string":
      return texts(node);
    case "array":
      return arrays(node, depth);
    case "object":
      return objects(node, depth);
    case "union":
      return alternating(simplestFirst(node.members).map((member) => samples(member, depth)));
    case "intersection":
      return alternating(simplestFirst(node.members).map((member) => samples(member, depth)));
    case "ref":
      return samples(deref(node), depth + 1);
  }
}

function simplestFirst(nodes: readonly Node[]): Node[] {
  return [...nodes].sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
}

/** The first of each list, then the second of each … */
function* alternating(lists: readonly (readonly JsonValue[])[]): Iterable<JsonValue> {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  for (let i = 0; i < longest; i++) {
    for (const list of lists) {
      const value = list[i];
      if (value !== undefined) yield value;
    }
  }
}

/** Values near the bounds, and near zero. */
export function numbers(node: NumberNode): readonly number[] {
  const near = [0, node.min, node.max]
    .filter(Number.isFinite)
    .flatMap((n) => [n, n + 1, n - 1, n + 0.5, n - 0.5]);
  const middle = Number.isFinite(node.min) && Number.isFinite(node.max) ? [(node.min + node.max) / 2] : [];
  const multiples = node.multiplesOf.flatMap((divisor) => {
    const first = Number.isFinite(node.min) ? Math.ceil(node.min / divisor) * divisor : 0;
    return [first, first + divisor, first - divisor];
  });
  const product = node.multiplesOf.reduce((all, divisor) => all * divisor, 1);
  return [...near, ...middle, ...multiples, product, -product];
}

export function texts(node: StringNode): readonly string[] {
  const { patterns, minLength, maxLength } = node;
  const answer = findText({ matches: patterns, misses: [], minLength, maxLength });
  const made = answer.type === "found" ? [answer.text] : [];
  const padded = minLength > 0 && minLength <= MAX_ITEMS ? ["a".repeat(minLength)] : [];
  return [...formatExamples(node.formats), "a", ...made, "", ...padded, "A", "0", " ", "a b", "é"];
}

function* arrays(node: ArrayNode, depth: number): Iterable<JsonValue> {
  if (node.minItems > MAX_ITEMS) return;
  const lengths = [
    node.minItems,
    Math.min(node.minItems + 1, node.maxItems),
    Math.min(node.prefix.length, node.maxItems),
  ];
  for (const length of new Set(lengths)) {
    const items = itemsOf(node, length, depth);
    if (items !== undefined) yield items;
  }
}

/** So many items, no two alike if they must differ; undefined if they cannot be found, or are too many to spell out. */
export function itemsOf(node: ArrayNode, length: number, depth: number): JsonValue[] | undefined {
  if (length > MAX_ITEMS) return undefined;
  const items: JsonValue[] = [];
  const cached = new Map<Node, readonly JsonValue[]>();
  for (let i = 0; i < length; i++) {
    const of = node.prefix[i] ?? node.rest;
    const choices = cached.get(of) ?? samples(of, depth + 1);
    cached.set(of, choices);
    const item = choices.find((choice) => !node.unique || !items.some((other) => sameJson(other, choice)));
    if (item === undefined) return undefined;
    items.push(item);
  }
  return items;
}

function* objects(node: ObjectNode, depth: number): Iterable<JsonValue> {
  const least = membersOf(node, {}, depth);
  if (least === undefined) return;
  yield least;
  const more = [...node.properties].filter(
    ([name, { presence }]) => presence !== "required" && !Object.hasOwn(least, name),
  );
  for (const [name, property] of more.slice(0, 3)) {
    const value = sample(property.node, depth + 1);
    if (value !== undefined) yield { ...least, [name]: value };
  }
}

/** The members given, and those that the object needs besides; undefined if one of them has no sample. */
export function membersOf(
  node: ObjectNode,
  given: Readonly<Record<string, JsonValue>>,
  depth = 0,
): Record<string, JsonValue> | undefined {
  const members: Record<string, JsonValue> = {};
  const set = (name: string, value: JsonValue): void => {
    // Many times as slow as an assignment, which would not make a member of that name.
    if (name === "__proto__") Object.defineProperty(members, name, { value, ...PLAIN_MEMBER });
    else members[name] = value;
  };
  for (const [name, property] of node.properties) {
    if (property.presence === "optional" || Object.hasOwn(given, name)) continue;
    const value = sample(property.node, depth + 1);
    if (value === undefined && property.presence === "required") return undefined;
    if (value !== undefined) set(name, value);
  }
  for (const [name, value] of Object.entries(given)) set(name, value);
  fill(node, members, set, depth);
  return members;
}

/** Adds members until there are enough of them. */
function fill(
  node: ObjectNode,
  members: Readonly<Record<string, JsonValue>>,
  set: (name: string, value: JsonValue) => void,
  depth: number,
): void {
  const missing = (): boolean => Object.keys(members).length < node.minProperties;
  for (const [name, property] of node.properties) {
    if (!missing()) return;
    const value = Object.hasOwn(members, name) ? undefined : sample(property.node, depth + 1);
    if (value !== undefined) set(name, value);
  }
  const other = sample(additionalOf(node, "write"), depth + 1);
  for (let i = 0; missing() && other !== undefined && i < MAX_ITEMS; i++) set(`member${i}`, other);
  for (const { keys, node: member } of node.patterns) {
    const value = sample(member, depth + 1);
    for (const name of value === undefined ? [] : texts(keys)) if (missing()) set(name, value as JsonValue);
  }
}
