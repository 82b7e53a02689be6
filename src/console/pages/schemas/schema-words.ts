/** What a JSON Schema says of one value, in words: its type, and by keyword what limits it. Pure. */

type Json = Readonly<Record<string, unknown>>;

export interface Limit {
  /** As it reads behind "now" or "no longer"; null: its keyword is all that can be said in a few words. */
  readonly words: string | null;
  /** To tell one from another. */
  readonly text: string;
}

/** Their members are values of their own, their type is said apart, or they are about the schema. */
const ELSEWHERE = new Set(["type", "enum", "properties", "required", "items", "$schema", "$id"]);
/** Several keywords say together what becomes of members that are not declared. */
const UNDECLARED = "additionalProperties";

const NUMBERS: Readonly<Record<string, (n: number) => string>> = {
  minimum: (n) => `at least ${n}`,
  maximum: (n) => `at most ${n}`,
  exclusiveMinimum: (n) => `above ${n}`,
  exclusiveMaximum: (n) => `below ${n}`,
  multipleOf: (n) => `a multiple of ${n}`,
  minLength: (n) => `at least ${n} ${n === 1 ? "character" : "characters"}`,
  maxLength: (n) => `at most ${n} ${n === 1 ? "character" : "characters"}`,
  minItems: (n) => `at least ${n} ${n === 1 ? "item" : "items"}`,
  maxItems: (n) => `at most ${n} ${n === 1 ? "item" : "items"}`,
  minProperties: (n) => `at least ${n} ${n === 1 ? "member" : "members"}`,
  maxProperties: (n) => `at most ${n} ${n === 1 ? "member" : "members"}`,
};
const TEXTS: Readonly<Record<string, (text: string) => string>> = {
  pattern: (text) => `matching /${text}/`,
  format: (text) => `in the format ${text}`,
  title: (text) => `titled “${text}”`,
  description: (text) => `described as “${text}”`,
  $ref: (text) => `as in ${text}`,
};
const SWITCHES: Readonly<Record<string, string>> = {
  uniqueItems: "without repeats",
  deprecated: "deprecated",
  readOnly: "read only",
  writeOnly: "write only",
};

export function typeWords(schema: unknown): string {
  if (typeof schema === "boolean") return schema ? "any" : "nothing";
  const { type, enum: options, anyOf, oneOf } = Object(schema) as Json;
  if (Array.isArray(options)) return options.map((one) => JSON.stringify(one)).join(" | ");
  if (type !== undefined) return [type].flat().join(" or ");
  const several = anyOf ?? oneOf;
  return several === undefined ? "any" : (alternatives(several) ?? "one of several");
}

export function limitsOf(schema: unknown): ReadonlyMap<string, Limit> {
  const limits = new Map<string, Limit>();
  const { [UNDECLARED]: additional, "x-undeclared": undeclared, ...rest } = Object(schema) as Json;
  const others = undeclaredWords(additional, undeclared);
  if (others !== undefined) limits.set(UNDECLARED, limit(others, [additional, undeclared]));
  for (const [keyword, value] of Object.entries(rest)) {
    if (ELSEWHERE.has(keyword) || isIdle(keyword, value)) continue;
    if ((keyword === "anyOf" || keyword === "oneOf") && alternatives(value) === typeWords(schema)) continue;
    limits.set(keyword, limit(wordsOf(keyword, value), value));
  }
  return limits;
}

function limit(words: string | null, value: unknown): Limit {
  return { words, text: JSON.stringify(value) };
}

/** It limits nothing, or nothing that the type does not: numbers that are exact have bounds by themselves. */
function isIdle(keyword: string, value: unknown): boolean {
  if (keyword === "minimum") return value === Number.MIN_SAFE_INTEGER;
  if (keyword === "maximum") return value === Number.MAX_SAFE_INTEGER;
  if (keyword === "propertyNames") return JSON.stringify(value) === '{"type":"string"}';
  return value === undefined || (keyword in SWITCHES && value === false);
}

function wordsOf(keyword: string, value: unknown): string | null {
  if (keyword === "const") return `always ${JSON.stringify(value)}`;
  if (keyword === "default") return `${JSON.stringify(value)} by default`;
  if (keyword === "x-opaque") return "checked by code";
  if (keyword === "x-unsure") return `with code to decide whether ${[value].flat().join(", ")} may be absent`;
  if (keyword === "propertyNames") return prefixed("with names that are ", inShort(value));
  if (typeof value === "number") return NUMBERS[keyword]?.(value) ?? `with ${keyword} ${value}`;
  if (typeof value === "string") return TEXTS[keyword]?.(value) ?? `with ${keyword} ${JSON.stringify(value)}`;
  if (typeof value === "boolean") return SWITCHES[keyword] ?? `with ${keyword} ${value}`;
  return null;
}

/** Undefined: they are taken as they are, as JSON Schema has it. */
function undeclaredWords(additional: unknown, undeclared: unknown): string | null | undefined {
  if (undeclared === "strip") return "leaving out members that are not declared";
  if (additional === false) return "refusing members that are not declared";
  if (additional === undefined || additional === true || Object.keys(Object(additional)).length === 0)
    return undefined;
  return prefixed("with other members that are ", inShort(additional));
}

function prefixed(prefix: string, words: string | null): string | null {
  return words === null ? null : prefix + words;
}

function alternatives(schemas: unknown): string | null {
  if (!Array.isArray(schemas)) return null;
  const words = schemas.map(inShort);
  return words.includes(null) ? null : words.join(" or ");
}

/** Type and limits; null if there is more to it. */
function inShort(schema: unknown): string | null {
  const { properties, items } = Object(schema) as Json;
  if (properties !== undefined || items !== undefined) return null;
  const limits = [...limitsOf(schema).values()].map(({ words }) => words);
  if (limits.includes(null)) return null;
  return `${typeWords(schema)}${limits.length === 0 ? "" : ` (${limits.join(", ")})`}`;
}
