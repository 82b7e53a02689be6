/**
 * Whether a value belongs to a node: yes, no, or undefined where code that we do not have decides. It confirms
 * counter-examples and picks branches; payloads are validated by Zod or Ajv.
 */
import { canonicalText, type JsonValue } from "../../model/json.js";
import { isWorkBounded } from "../patterns/language.js";
import { patternOf } from "../patterns/pattern.js";
import { patiently } from "../patterns/time-limit.js";
import { takeSteps } from "./comparison-budget.js";
import { hasFormat } from "./format.js";
import { isMultipleOf } from "./multiples.js";
import {
  type ArrayNode,
  additionalOf,
  deref,
  type EnumNode,
  type Node,
  type NumberNode,
  type ObjectNode,
  type Side,
  type StringNode,
} from "./tree.js";

/** undefined: nobody knows, or it would take a comparison more work than it may be. */
export type Answer = boolean | undefined;

export function accepts(node: Node, value: JsonValue, side: Side): Answer {
  if (!takeSteps()) return undefined;
  switch (node.kind) {
    case "any":
      return true;
    case "never":
      return false;
    case "enum":
      return isListed(node, value);
    case "number":
      return typeof value === "number" && acceptsNumber(node, value);
    case "string":
      return typeof value === "string" && acceptsString(node, value);
    case "array":
      return Array.isArray(value) && acceptsArray(node, value, side);
    case "object":
      return isObject(value) && acceptsObject(node, value, side);
    case "union":
      return or(node.members, (member) => accepts(member, value, side));
    case "intersection":
      return and(node.members, (member) => accepts(member, value, side));
    case "ref":
      return accepts(deref(node), value, side);
    case "opaque":
      return undefined;
  }
}

/** Of a value as text, or of a text held against a pattern. */
const LETTERS_A_STEP = 64;

/** Lists of more values than this are looked up, not walked. */
const MAX_WALKED = 16;
const looked = new WeakMap<EnumNode, ReadonlySet<string>>();

function isListed(node: EnumNode, value: JsonValue): boolean {
  if (node.values.length <= MAX_WALKED) return node.values.some((listed) => sameJson(listed, value));
  const texts = looked.get(node) ?? new Set(node.values.map(canonicalText));
  looked.set(node, texts);
  return texts.has(textOf(value));
}

export function isObject(value: JsonValue | undefined): value is { readonly [name: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function sameJson(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  return textOf(a) === textOf(b);
}

/** Large values count for more. */
function textOf(value: JsonValue): string {
  const text = canonicalText(value);
  takeSteps(text.length / LETTERS_A_STEP);
  return text;
}

function and<T>(parts: Iterable<T>, ask: (part: T) => Answer): Answer {
  let answer: Answer = true;
  for (const part of parts) {
    const said = ask(part);
    if (said === false) return false;
    if (said === undefined) answer = undefined;
  }
  return answer;
}

function or<T>(parts: Iterable<T>, ask: (part: T) => Answer): Answer {
  const none = and(parts, (part) => not(ask(part)));
  return not(none);
}

function not(answer: Answer): Answer {
  return answer === undefined ? undefined : !answer;
}

function acceptsNumber(node: NumberNode, value: number): Answer {
  if (node.integer && !Number.isInteger(value)) return false;
  if (value < node.min || (node.minExclusive && value === node.min)) return false;
  if (value > node.max || (node.maxExclusive && value === node.max)) return false;
  return node.multiplesOf.every((divisor) => isMultipleOf(value, divisor));
}

export function acceptsString(node: StringNode, value: string): Answer {
  if (node.minLength > 0 || node.maxLength < Infinity) {
    const length = codePoints(value);
    if (length < node.minLength || length > node.maxLength) return false;
  }
  return and(
    [
      and(node.patterns, (pattern) => matchesPattern(pattern, value)),
      and(node.formats, (format) => hasFormat(format, value)),
    ],
    (answer) => answer,
  );
}

function matchesPattern(source: string, value: string): Answer {
  const pattern = patternOf(source);
  takeSteps(value.length / LETTERS_A_STEP);
  return isWorkBounded() ? pattern?.test(value) : pattern && patiently(() => pattern.ask(value));
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function acceptsArray(node: ArrayNode, value: readonly JsonValue[], side: Side): Answer {
  if (value.length < node.minItems || value.length > node.maxItems) return false;
  if (node.unique && new Set(value.map(textOf)).size < value.length) return false;
  return and(value.entries(), ([i, item]) => accepts(node.prefix[i] ?? node.rest, item, side));
}

function acceptsObject(node: ObjectNode, value: { readonly [name: string]: JsonValue }, side: Side): Answer {
  const names = Object.keys(value);
  if (names.length < node.minProperties || names.length > node.maxProperties) return false;
  const present = and(node.properties, ([name, { presence }]) => {
    if (Object.hasOwn(value, name) || presence === "optional") return true;
    return presence === "unsure" ? undefined : false;
  });
  if (present === false) return false;
  const members = and(names, (name) => acceptsMember(node, name, value[name] as JsonValue, side));
  return members && present === undefined ? undefined : members;
}

function acceptsMember(node: ObjectNode, name: string, value: JsonValue, side: Side): Answer {
  const declared = node.properties.get(name);
  if (declared !== undefined) return accepts(declared.node, value, side);
  const matches = node.patterns.map(({ keys }) => acceptsString(keys, name));
  const matching = node.patterns.filter((_, i) => matches[i] === true);
  const answer = and(matching, (pattern) => accepts(pattern.node, value, side));
  if (answer === false) return false;
  // Whether a format fits the name decides what else applies.
  if (matches.includes(undefined)) return undefined;
  return matching.length > 0 ? answer : accepts(additionalOf(node, side), value, side);
}
