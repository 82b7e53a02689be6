/**
 * The one form in which schemas are compared: a tree of sets of JSON values. Zod schemas and JSON Schemas of any
 * spelling end here, so that comparing, sampling and checking know eleven kinds of node and nothing else.
 *
 * `null`, `true` and `false` are values of an enum; a tuple is an array with a prefix; a nullable is a union; a record
 * with named keys is an object. What cannot be expressed is opaque: a set of which only the reason is known.
 */
import { canonicalText, type JsonValue } from "../../model/json.js";

export type Node =
  | AnyNode
  | NeverNode
  | EnumNode
  | NumberNode
  | StringNode
  | ArrayNode
  | ObjectNode
  | UnionNode
  | IntersectionNode
  | RefNode
  | OpaqueNode;

export interface AnyNode {
  readonly kind: "any";
}

export interface NeverNode {
  readonly kind: "never";
}

/** Exactly these values, no two of them equal. */
export interface EnumNode {
  readonly kind: "enum";
  readonly values: readonly JsonValue[];
}

export interface NumberNode {
  readonly kind: "number";
  readonly integer: boolean;
  /** -Infinity: none. An integer's bounds are integers, and inclusive if they are safe integers. */
  readonly min: number;
  readonly minExclusive: boolean;
  readonly max: number;
  readonly maxExclusive: boolean;
  /** A multiple of each. */
  readonly multiplesOf: readonly number[];
}

export interface StringNode {
  readonly kind: "string";
  /** In code points. */
  readonly minLength: number;
  readonly maxLength: number;
  /** Matches each, somewhere. */
  readonly patterns: readonly string[];
  /** Satisfies each of these named formats. */
  readonly formats: readonly string[];
}

export interface ArrayNode {
  readonly kind: "array";
  readonly prefix: readonly Node[];
  /** What follows the prefix; never: nothing may. */
  readonly rest: Node;
  readonly minItems: number;
  readonly maxItems: number;
  readonly unique: boolean;
}

export interface ObjectNode {
  readonly kind: "object";
  readonly properties: ReadonlyMap<string, Property>;
  /** Members that are not declared by name, by what their name looks like; several may apply. */
  readonly patterns: readonly KeyPattern[];
  /** Members that neither a name nor a pattern declares. */
  readonly additional: Node;
  /** `strip`: undeclared members are accepted and left out of what is written (Zod's plain objects). */
  readonly undeclared: "keep" | "strip";
  readonly minProperties: number;
  readonly maxProperties: number;
}

export interface Property {
  readonly node: Node;
  /** `unsure`: code decides whether it may be absent. */
  readonly presence: "required" | "optional" | "unsure";
}

export interface KeyPattern {
  readonly keys: StringNode;
  readonly node: Node;
}

/** Flat, without any, never or another union among its two or more members; at most one enum. */
export interface UnionNode {
  readonly kind: "union";
  readonly members: readonly Node[];
}

/** What could not be merged into one node: refs, opaque parts, objects with patterns. Flat. */
export interface IntersectionNode {
  readonly kind: "intersection";
  readonly members: readonly Node[];
}

/** A recursive schema met again inside itself. */
export interface RefNode {
  readonly kind: "ref";
  readonly name: string;
  readonly target: { node: Node };
}

/** A set decided by code, or by a keyword that is not understood. */
export interface OpaqueNode {
  readonly kind: "opaque";
  readonly why: string;
  /** Equal keys mean equal sets. */
  readonly key: string | undefined;
}

/** Who looks at an object that strips: the writer leaves undeclared members out, the reader lets them pass. */
export type Side = "write" | "read";

export const ANY: AnyNode = Object.freeze({ kind: "any" });
export const NEVER: NeverNode = Object.freeze({ kind: "never" });
export const NULL: EnumNode = Object.freeze({ kind: "enum", values: [null] });
export const BOOLEAN: EnumNode = Object.freeze({ kind: "enum", values: [false, true] });

export function enumOf(values: readonly JsonValue[]): EnumNode | NeverNode {
  const distinct = new Map(values.map((value) => [canonicalText(value), value]));
  return distinct.size === 0 ? NEVER : { kind: "enum", values: [...distinct.values()] };
}

export function numberOf(o: Partial<Omit<NumberNode, "kind">> = {}): NumberNode | NeverNode {
  let { min = -Infinity, minExclusive = false, max = Infinity, maxExclusive = false } = o;
  const { integer = false, multiplesOf = [] } = o;
  if (integer) {
    ({ bound: min, exclusive: minExclusive } = integerBound(min, minExclusive, 1));
    ({ bound: max, exclusive: maxExclusive } = integerBound(max, maxExclusive, -1));
  }
  if (min > max || (min === max && (minExclusive || maxExclusive))) return NEVER;
  const divisors = [...new Set(multiplesOf)].sort((a, b) => a - b);
  return { kind: "number", integer, min, minExclusive, max, maxExclusive, multiplesOf: divisors };
}

/** The same bound among integers, inclusive where the neighbouring integer can be told apart. */
function integerBound(
  bound: number,
  exclusive: boolean,
  inward: 1 | -1,
): { bound: number; exclusive: boolean } {
  if (!Number.isInteger(bound)) {
    return { bound: inward === 1 ? Math.ceil(bound) : Math.floor(bound), exclusive: false };
  }
  return exclusive && Number.isSafeInteger(bound + inward)
    ? { bound: bound + inward, exclusive: false }
    : { bound, exclusive };
}

export function stringOf(o: Partial<Omit<StringNode, "kind">> = {}): StringNode | NeverNode {
  const { minLength = 0, maxLength = Infinity, patterns = [], formats = [] } = o;
  if (minLength > maxLength) return NEVER;
  const sorted = (texts: readonly string[]): string[] => [...new Set(texts)].sort();
  return { kind: "string", minLength, maxLength, patterns: sorted(patterns), formats: sorted(formats) };
}

export function arrayOf(o: Partial<Omit<ArrayNode, "kind">> = {}): ArrayNode | NeverNode {
  const { rest = ANY, minItems = 0, unique = false } = o;
  let { prefix = [], maxItems = Infinity } = o;
  const barred = prefix.findIndex((node) => node.kind === "never");
  if (barred >= 0) maxItems = Math.min(maxItems, barred);
  else if (rest.kind === "never") maxItems = Math.min(maxItems, prefix.length);
  if (minItems > maxItems) return NEVER;
  if (maxItems < prefix.length) prefix = prefix.slice(0, maxItems);
  return {
    kind: "array",
    prefix,
    rest: maxItems <= prefix.length ? NEVER : rest,
    minItems,
    maxItems,
    unique: unique && maxItems > 1,
  };
}

export function objectOf(o: Partial<Omit<ObjectNode, "kind">> = {}): ObjectNode | NeverNode {
  const {
    properties = new Map<string, Property>(),
    patterns = [],
    additional = ANY,
    undeclared = "keep",
  } = o;
  const { minProperties = 0, maxProperties = Infinity } = o;
  let required = 0;
  for (const { node, presence } of properties.values()) {
    if (presence !== "required") continue;
    if (node.kind === "never") return NEVER;
    required++;
  }
  if (Math.max(required, minProperties) > maxProperties) return NEVER;
  return { kind: "object", properties, patterns, additional, undeclared, minProperties, maxProperties };
}

export function unionOf(nodes: readonly Node[]): Node {
  const members: Node[] = [];
  const values: JsonValue[] = [];
  const add = (node: Node): boolean => {
    if (node.kind === "any") return true;
    if (node.kind === "union") return node.members.some(add);
    if (node.kind === "enum") values.push(...node.values);
    else if (node.kind !== "never" && !members.includes(node)) members.push(node);
    return false;
  };
  if (nodes.some(add)) return ANY;
  const listed = enumOf(values);
  if (listed.kind === "enum") members.unshift(listed);
  const [first] = members;
  if (first === undefined) return NEVER;
  return members.length === 1 ? first : { kind: "union", members };
}

export function deref(node: Node): Node {
  let found = node;
  while (found.kind === "ref") found = found.target.node;
  return found;
}

/** What an object takes under a name that neither a name nor a pattern declares. */
export function additionalOf(object: ObjectNode, side: Side): Node {
  return side === "write" && object.undeclared === "strip" ? NEVER : object.additional;
}

export type Openness = "open" | "closed" | "strips" | "typed";

/** How an object treats undeclared members: lets them pass, refuses them, leaves them out, or says what they must be. */
export function opennessOf(object: ObjectNode): Openness {
  if (object.undeclared === "strip") return "strips";
  if (object.patterns.length > 0) return "typed";
  if (object.additional.kind === "any") return "open";
  return object.additional.kind === "never" ? "closed" : "typed";
}
