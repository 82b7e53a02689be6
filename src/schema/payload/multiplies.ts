/**
 * Whether holding a payload against a JSON Schema may take far longer than the payload is large. A schema that leads back to itself in two ways
 * over the same member doubles the work with each level of the payload; definitions that are made of others twice
 * each double it without any payload. A tree whose nodes have a left and a right does not: these are two members.
 */
import type { JsonSchema } from "../reading/schema-input.js";

/** Looks at one place of a payload that are as good as one. */
const MAX_LOOKS = 1_000;

/** Keywords of which one alone is held against a member, or an item: the first that has it. */
const APART = [
  ["properties", "additionalProperties"],
  ["prefixItems", "items", "additionalItems"],
];
const MAPS_APART: readonly string[] = ["properties", "prefixItems"];
const SINGLE = ["not", "if", "then", "else", "contains", "propertyNames"];
const UNEVALUATED = ["unevaluatedProperties", "unevaluatedItems"];
const EACH = ["allOf", "anyOf", "oneOf", "patternProperties", "dependentSchemas", "dependencies"];
const REFS = ["$ref", "$dynamicRef", "$recursiveRef"];

type Part = Readonly<Record<string, unknown>>;

const known = new WeakMap<object, boolean>();

/** "Yes" where it is not known. */
export function mayMultiply(schema: JsonSchema): boolean {
  if (typeof schema === "boolean") return false;
  let answer = known.get(schema);
  if (answer === undefined) {
    answer = looksOften(schema);
    known.set(schema, answer);
  }
  return answer;
}

function looksOften(schema: Part): boolean {
  try {
    return new Looks(schema).at(schema) > MAX_LOOKS;
  } catch (error) {
    // The end of the stack.
    if (error instanceof RangeError) return true;
    throw error;
  }
}

interface Visit {
  readonly order: number;
  /** The first part that this one leads back to, by order. */
  first: number;
  /** undefined while what it leads to is gone through. */
  looks: number | undefined;
}

/** How often a part looks at one place of a payload, at most. Parts that lead to each other are found in Tarjan's way. */
class Looks {
  readonly #document: Part;
  readonly #visits = new Map<Part, Visit>();
  readonly #open: Part[] = [];

  constructor(document: Part) {
    this.#document = document;
  }

  at(part: Part): number {
    return this.#visit(part).looks ?? 0;
  }

  #visit(part: Part): Visit {
    const before = this.#visits.get(part);
    if (before !== undefined) return before;
    const visit: Visit = { order: this.#visits.size, first: this.#visits.size, looks: undefined };
    this.#visits.set(part, visit);
    this.#open.push(part);
    for (const target of this.#groups(part).flat()) {
      const next = this.#visit(target);
      if (next.looks === undefined) visit.first = Math.min(visit.first, next.first);
    }
    if (visit.first === visit.order) this.#finish(this.#open.splice(this.#open.indexOf(part)));
    return visit;
  }

  /** Parts that all lead to each other, or one alone. */
  #finish(parts: readonly Part[]): void {
    const inside = new Set(parts);
    let looks = parts.length;
    for (const groups of parts.map((part) => this.#groups(part))) {
      if (groups.filter((group) => group.some((target) => inside.has(target))).length > 1) looks = Infinity;
      for (const group of groups) looks += Math.max(...group.map((target) => this.at(target)));
    }
    if (parts.some((part) => this.#isElsewhere(part))) looks = Infinity;
    for (const part of parts) (this.#visits.get(part) as Visit).looks = looks;
  }

  /** Whether its refs may lead to what is not known here. */
  #isElsewhere(part: Part): boolean {
    const hasOwnId = part !== this.#document && part.$id !== undefined;
    return (
      hasOwnId || REFS.some((word) => part[word] !== undefined && this.#target(part[word]) === undefined)
    );
  }

  /** What a part leads to, in groups of which one alone is held against a place. */
  #groups(part: Part): Part[][] {
    const groups: unknown[][] = [
      ...APART.map((words) => words.flatMap((word) => valuesOf(part[word], MAPS_APART.includes(word)))),
      ...[...SINGLE, ...UNEVALUATED].map((word) => [part[word]]),
      ...EACH.flatMap((word) => valuesOf(part[word], true).map((value) => [value])),
      ...REFS.map((word) => [this.#target(part[word])]),
    ];
    return groups.map((group) => group.filter(isPart)).filter((group) => group.length > 0);
  }

  #target(ref: unknown): unknown {
    if (typeof ref !== "string" || !/^#(?:\/|$)/.test(ref)) return undefined;
    let at: unknown = this.#document;
    for (const step of ref.split("/").slice(1)) {
      const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
      at = (at as Part)[name];
    }
    return at;
  }
}

/** The schemas in a list, or those in a map if it is one. */
function valuesOf(value: unknown, isMap: boolean): readonly unknown[] {
  const isMany = Array.isArray(value) || (isMap && typeof value === "object" && value !== null);
  return isMany ? Object.values(value as object) : [value];
}

function isPart(value: unknown): value is Part {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
