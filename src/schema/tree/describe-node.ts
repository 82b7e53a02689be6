/** Nodes in words, for the rules that people read. */
import type { JsonValue } from "../../model/json.js";
import { BY_UNITS } from "../patterns/pattern-syntax.js";
import { takeSteps } from "./comparison-budget.js";
import { deref, type Node, type NumberNode, type StringNode } from "./tree.js";

const MAX_SHOWN = 6;

export function describeNode(node: Node): string {
  takeSteps();
  switch (node.kind) {
    case "any":
      return "any value";
    case "never":
      return "nothing";
    case "enum":
      return describeValues(node.values);
    case "number":
      return describeNumber(node);
    case "string":
      return describeString(node);
    case "array":
      return "an array";
    case "object":
      return "an object";
    case "union": {
      const parts = [...new Set(node.members.map(describeNode))];
      return parts.length > 4 ? `one of ${parts.length} alternatives` : parts.join(" or ");
    }
    case "intersection": {
      const known = node.members.find((member) => member.kind !== "opaque");
      return known === undefined ? "what code decides" : `${describeNode(known)} with further conditions`;
    }
    case "ref":
      return describeShallow(deref(node));
    case "opaque":
      return "what code decides";
  }
}

/** A recursive schema is named by its kind, not spelled out. */
function describeShallow(node: Node): string {
  return node.kind === "union" || node.kind === "intersection" ? "a recursive value" : describeNode(node);
}

function describeValues(values: readonly JsonValue[]): string {
  if (values.length === 2 && values.includes(true) && values.includes(false)) return "a boolean";
  return values.length === 1 ? listValues(values) : `one of ${listValues(values)}`;
}

/** A few of them, and how many more there are. */
export function listValues(values: readonly JsonValue[]): string {
  const shown = values.slice(0, MAX_SHOWN).map((value) => shorten(value));
  const more = values.length > MAX_SHOWN ? `, and ${values.length - MAX_SHOWN} more` : "";
  return `${shown.join(", ")}${more}`;
}

function describeNumber(node: NumberNode): string {
  const parts = [node.integer ? "an integer" : "a number"];
  if (node.min > -Infinity) parts.push(node.minExclusive ? `above ${node.min}` : `from ${node.min}`);
  if (node.max < Infinity) parts.push(node.maxExclusive ? `below ${node.max}` : `up to ${node.max}`);
  if (node.multiplesOf.length > 0) parts.push(`multiple of ${node.multiplesOf.join(" and ")}`);
  return parts.join(" ");
}

function describeString(node: StringNode): string {
  const parts = [node.formats.length > 0 ? `a string of format ${node.formats.join(" and ")}` : "a string"];
  if (node.minLength > 0) parts.push(`of at least ${node.minLength} characters`);
  if (node.maxLength < Infinity) parts.push(`of at most ${node.maxLength} characters`);
  if (node.patterns.length > 0 && node.formats.length === 0)
    parts.push(`like ${node.patterns.map(shortPattern).join(" and ")}`);
  return parts.join(" ");
}

export function shortPattern(pattern: string): string {
  const said = pattern.startsWith(BY_UNITS) ? pattern.slice(BY_UNITS.length) : pattern;
  return `/${said.length > 60 ? `${said.slice(0, 59)}…` : said}/`;
}

/** JSON text that fits into a sentence: of what is large no more is written than can be shown. */
export function shorten(value: unknown, length = 80): string {
  let left = length;
  const text =
    JSON.stringify(value, (_, part: unknown) => {
      if (typeof part === "string") return part.slice(0, length);
      left--;
      return typeof part === "object" && part !== null ? firstOf(part, Math.max(1, left)) : part;
    }) ?? String(value);
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

/** Each item, and each member, is at least one character. */
function firstOf(whole: object, count: number): object {
  if (Array.isArray(whole)) return whole.length > count ? whole.slice(0, count) : whole;
  const first: Record<string, unknown> = Object.create(null);
  let taken = 0;
  for (const name of Object.keys(whole)) {
    if (taken++ === count) return first;
    first[name] = (whole as Record<string, unknown>)[name];
  }
  return whole;
}
