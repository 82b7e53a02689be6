/** The keywords of JSON Schema that speak of one type of value each, as nodes. */
import { BusError } from "../../model/errors.js";
import { patternOf } from "../patterns/pattern.js";
import { acceptsString } from "../tree/accept.js";
import { intersect } from "../tree/intersect.js";
import {
  ANY,
  arrayOf,
  type KeyPattern,
  NEVER,
  type Node,
  numberOf,
  objectOf,
  type Property,
  type StringNode,
  stringOf,
} from "../tree/tree.js";
import { type JsonSchemaObject, UNDECLARED, UNSURE } from "./schema-input.js";

/** A subschema as a node. */
export type Normalize = (schema: unknown) => Node;

export const NUMBER_KEYWORDS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
] as const;
export const STRING_KEYWORDS = ["minLength", "maxLength", "pattern", "format"] as const;
export const ARRAY_KEYWORDS = [
  "items",
  "prefixItems",
  "additionalItems",
  "minItems",
  "maxItems",
  "uniqueItems",
] as const;
export const OBJECT_KEYWORDS = [
  ...(["properties", "required", "additionalProperties", "patternProperties", "propertyNames"] as const),
  ...(["minProperties", "maxProperties", UNDECLARED, UNSURE] as const),
] as const;

export function numberKeywords(schema: JsonSchemaObject, integer: boolean): Node {
  const min = numberAt(schema, "minimum") ?? -Infinity;
  const max = numberAt(schema, "maximum") ?? Infinity;
  const above = numberAt(schema, "exclusiveMinimum") ?? -Infinity;
  const below = numberAt(schema, "exclusiveMaximum") ?? Infinity;
  const divisor = numberAt(schema, "multipleOf");
  if (divisor !== undefined && divisor <= 0) throw malformed("multipleOf", "a number above 0");
  return numberOf({
    integer,
    min: Math.max(min, above),
    minExclusive: above >= min && above > -Infinity,
    max: Math.min(max, below),
    maxExclusive: below <= max && below < Infinity,
    multiplesOf: divisor === undefined ? [] : [divisor],
  });
}

export function stringKeywords(schema: JsonSchemaObject): Node {
  const pattern = textAt(schema, "pattern");
  if (pattern !== undefined) checkPattern(pattern);
  const format = textAt(schema, "format");
  return stringOf({
    minLength: countAt(schema, "minLength") ?? 0,
    maxLength: countAt(schema, "maxLength") ?? Infinity,
    patterns: pattern === undefined ? [] : [pattern],
    formats: format === undefined ? [] : [format],
  });
}

/** Before 2020 a tuple was an array of `items`, with `additionalItems` for the rest, and `prefixItems` said nothing. */
export function arrayKeywords(schema: JsonSchemaObject, child: Normalize, older: boolean): Node {
  const listed = Array.isArray(schema.items);
  const prefix = listed ? schema.items : older ? undefined : schema.prefixItems;
  const rest = listed ? schema.additionalItems : schema.items;
  if (prefix !== undefined && !Array.isArray(prefix)) throw malformed("prefixItems", "an array of schemas");
  return arrayOf({
    prefix: (prefix ?? []).map(child),
    rest: rest === undefined ? ANY : child(rest),
    minItems: countAt(schema, "minItems") ?? 0,
    maxItems: countAt(schema, "maxItems") ?? Infinity,
    unique: schema.uniqueItems === true,
  });
}

export function objectKeywords(schema: JsonSchemaObject, child: Normalize): Node {
  const patterns = [...membersAt(schema, "patternProperties")].map(([pattern, member]): KeyPattern => {
    checkPattern(pattern);
    return { keys: stringOf({ patterns: [pattern] }) as StringNode, node: child(member) };
  });
  const additional = schema.additionalProperties === undefined ? ANY : child(schema.additionalProperties);
  const declared = new Map(
    [...membersAt(schema, "properties")].map(([name, member]) => [name, child(member)]),
  );
  const required = new Set(namesAt(schema, "required"));
  const unsure = new Set(namesAt(schema, UNSURE));
  const properties = new Map<string, Property>();
  for (const name of new Set([...declared.keys(), ...required])) {
    const matching = nodesFor(name, patterns);
    const own = declared.get(name) ?? (matching.length === 0 ? additional : ANY);
    const presence = required.has(name) ? "required" : unsure.has(name) ? "unsure" : "optional";
    properties.set(name, { node: intersect(own, ...matching), presence });
  }
  const names =
    schema.propertyNames === undefined ? stringOf() : intersect(child(schema.propertyNames), stringOf());
  return restrictNames(names, {
    properties,
    patterns,
    additional,
    undeclared: schema[UNDECLARED] === "strip" ? "strip" : "keep",
    minProperties: countAt(schema, "minProperties") ?? 0,
    maxProperties: countAt(schema, "maxProperties") ?? Infinity,
  });
}

const UNDECIDED: Node = { kind: "opaque", why: "a pattern that may take for ever", key: undefined };

/** What patterns say of a member by its name. */
function nodesFor(name: string, patterns: readonly KeyPattern[]): Node[] {
  return patterns.flatMap(({ keys, node }) => {
    const matches = acceptsString(keys, name);
    return matches === undefined ? [UNDECIDED] : matches ? [node] : [];
  });
}

type ObjectParts = Required<NonNullable<Parameters<typeof objectOf>[0]>>;

/** `propertyNames` in terms of the other parts: listed names become properties, a text becomes a pattern. */
function restrictNames(names: Node, parts: ObjectParts): Node {
  if (names.kind === "never") return onlyListed([], parts);
  if (names.kind === "enum") return onlyListed(names.values.map(String), parts);
  if (names.kind === "string" && isUnbounded(names)) return objectOf(parts);
  const answers = [...parts.properties.keys()].map((name) =>
    names.kind === "string" ? acceptsString(names, name) : undefined,
  );
  if (names.kind !== "string" || parts.patterns.length > 0 || answers.includes(undefined)) {
    return intersect(objectOf(parts), { kind: "opaque", why: "propertyNames of this shape", key: undefined });
  }
  const properties = [...parts.properties].map(([name, property], i): [string, Property] => [
    name,
    answers[i] ? property : { ...property, node: NEVER },
  ]);
  return objectOf({
    ...parts,
    properties: new Map(properties),
    patterns: [{ keys: names, node: parts.additional }],
    additional: NEVER,
  });
}

function onlyListed(names: readonly string[], parts: ObjectParts): Node {
  const properties = new Map<string, Property>();
  for (const [name, property] of parts.properties) {
    properties.set(name, names.includes(name) ? property : { ...property, node: NEVER });
  }
  for (const name of names) {
    if (properties.has(name)) continue;
    const matching = nodesFor(name, parts.patterns);
    const node = matching.length === 0 ? parts.additional : intersect(...matching);
    properties.set(name, { node, presence: "optional" });
  }
  return objectOf({ ...parts, properties, patterns: [], additional: NEVER });
}

function isUnbounded(names: StringNode): boolean {
  return (
    names.minLength === 0 &&
    names.maxLength === Infinity &&
    names.patterns.length + names.formats.length === 0
  );
}

function checkPattern(pattern: string): void {
  if (patternOf(pattern) === undefined) throw malformed("pattern", "a regular expression", pattern);
}

function numberAt(schema: JsonSchemaObject, keyword: string): number | undefined {
  const value = schema[keyword];
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isFinite(value)) throw malformed(keyword, "a number", value);
  return value;
}

function countAt(schema: JsonSchemaObject, keyword: string): number | undefined {
  const value = numberAt(schema, keyword);
  if (value !== undefined && (!Number.isInteger(value) || value < 0))
    throw malformed(keyword, "a whole number", value);
  return value;
}

function textAt(schema: JsonSchemaObject, keyword: string): string | undefined {
  const value = schema[keyword];
  if (value !== undefined && typeof value !== "string") throw malformed(keyword, "a text", value);
  return value;
}

function namesAt(schema: JsonSchemaObject, keyword: string): readonly string[] {
  const value = schema[keyword] ?? [];
  if (!Array.isArray(value) || value.some((name) => typeof name !== "string")) {
    throw malformed(keyword, "an array of names", value);
  }
  return value as string[];
}

function membersAt(schema: JsonSchemaObject, keyword: string): ReadonlyMap<string, unknown> {
  const value = schema[keyword] ?? {};
  if (typeof value !== "object" || Array.isArray(value))
    throw malformed(keyword, "an object of schemas", value);
  return new Map(Object.entries(value));
}

export function malformed(keyword: string, wanted: string, given?: unknown): BusError {
  const instead = given === undefined ? "" : `, not ${JSON.stringify(given)?.slice(0, 60)}`;
  return new BusError(
    "INVALID_OPTION",
    `this is not a JSON Schema: "${keyword}" must be ${wanted}${instead}`,
  );
}
