/**
 * JSON Schema (2020-12 and draft 7) into the tree. Each keyword is an assertion of its own and the node is the
 * intersection of them all, so a keyword that is not understood only adds an opaque part: what is known still counts.
 * Refs are resolved in place; one that meets itself again becomes a ref node.
 */
import { BusError } from "../model/errors.js";
import { canonicalText, type JsonValue } from "../model/json.js";
import { disjoint } from "./disjoint.js";
import { intersect } from "./intersect.js";
import {
  ARRAY_KEYWORDS,
  arrayKeywords,
  malformed,
  NUMBER_KEYWORDS,
  numberKeywords,
  OBJECT_KEYWORDS,
  objectKeywords,
  STRING_KEYWORDS,
  stringKeywords,
} from "./keywords.js";
import {
  checkSchemaInput,
  isZodSchema,
  type JsonSchema,
  type JsonSchemaObject,
  OPAQUE,
  type OpaqueMark,
  type SchemaInput,
} from "./schema-input.js";
import { settle } from "./settle.js";
import {
  ANY,
  BOOLEAN,
  enumOf,
  NEVER,
  type Node,
  NULL,
  type OpaqueNode,
  type RefNode,
  unionOf,
} from "./tree.js";
import { exportZod } from "./zod-export.js";

/** A schema as JSON Schema; a Zod schema by what it accepts, with marks where code decides. */
export function toJsonSchema(schema: SchemaInput): JsonSchema {
  checkSchemaInput(schema);
  return isZodSchema(schema) ? exportZod(schema) : schema;
}

/** A schema as a tree. INVALID_OPTION if it is not a schema. */
export function normalize(schema: SchemaInput): Node {
  return settle(new Normalizer(toJsonSchema(schema)).root());
}

/** Arrays and objects inside each other. */
const MAX_DEPTH = 200;
const TYPES = ["null", "boolean", "number", "string", "array", "object"] as const;
const TYPED: readonly string[] = [
  ...NUMBER_KEYWORDS,
  ...STRING_KEYWORDS,
  ...ARRAY_KEYWORDS,
  ...OBJECT_KEYWORDS,
];
const READ: ReadonlySet<string> = new Set([
  ...TYPED,
  "type",
  "enum",
  "const",
  "allOf",
  "anyOf",
  "oneOf",
  "$ref",
  OPAQUE,
]);
/** Notes, and places where definitions are kept: they assert nothing. */
const SILENT: ReadonlySet<string> = new Set([
  ...["$schema", "$id", "$comment", "$defs", "definitions", "$anchor", "$vocabulary", "$dynamicAnchor"],
  ...["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"],
  ...["contentEncoding", "contentMediaType", "contentSchema", "discriminator"],
]);
/** Keywords that assert together, and nothing beyond their own values. */
const TOGETHER: readonly (readonly string[])[] = [
  ["not"],
  ["if", "then", "else"],
  ["contains", "minContains", "maxContains"],
  ["dependentRequired"],
  ["dependentSchemas"],
];

interface OpenRef {
  readonly depth: number;
  ref: RefNode | undefined;
}

class Normalizer {
  readonly #document: JsonSchema;
  readonly #done = new Map<string, Node>();
  readonly #open = new Map<string, OpenRef>();
  /** How many arrays and objects enclose the place we are at. */
  #depth = 0;

  constructor(document: JsonSchema) {
    this.#document = document;
  }

  root(): Node {
    return this.#refer("#");
  }

  readonly #inside = (schema: unknown): Node => {
    if (this.#depth >= MAX_DEPTH)
      throw new BusError("INVALID_OPTION", `the schema is nested deeper than ${MAX_DEPTH} levels`);
    this.#depth++;
    const node = this.#node(schema);
    this.#depth--;
    return node;
  };

  readonly #node = (schema: unknown): Node => {
    if (schema === true) return ANY;
    if (schema === false) return NEVER;
    if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
      throw new BusError("INVALID_OPTION", "this is not a JSON Schema: a schema is an object or a boolean");
    }
    const keywords = schema as JsonSchemaObject;
    return intersect(
      this.#byType(keywords),
      ...this.#byValue(keywords),
      ...this.#combined(keywords),
      ...marksOf(keywords),
      ...notUnderstood(keywords),
    );
  };

  #byType(schema: JsonSchemaObject): Node {
    if (schema.type === undefined && !TYPED.some((keyword) => schema[keyword] !== undefined)) return ANY;
    const types = schema.type === undefined ? TYPES : [schema.type].flat();
    if (types.length === 0) throw malformed("type", "a type, or several");
    return unionOf(types.map((type) => this.#ofType(type, schema)));
  }

  #ofType(type: unknown, schema: JsonSchemaObject): Node {
    switch (type) {
      case "null":
        return NULL;
      case "boolean":
        return BOOLEAN;
      case "number":
      case "integer":
        return numberKeywords(schema, type === "integer");
      case "string":
        return stringKeywords(schema);
      case "array":
        return arrayKeywords(schema, this.#inside);
      case "object":
        return objectKeywords(schema, this.#inside);
      default:
        throw malformed("type", "null, boolean, number, integer, string, array or object", type);
    }
  }

  #byValue(schema: JsonSchemaObject): Node[] {
    const nodes: Node[] = [];
    if (schema.const !== undefined) nodes.push(enumOf([schema.const as JsonValue]));
    if (schema.enum !== undefined) {
      if (!Array.isArray(schema.enum)) throw malformed("enum", "an array of values");
      nodes.push(enumOf(schema.enum as JsonValue[]));
    }
    return nodes;
  }

  #combined(schema: JsonSchemaObject): Node[] {
    const nodes = listAt(schema, "allOf").map(this.#node);
    if (schema.anyOf !== undefined) nodes.push(unionOf(listAt(schema, "anyOf").map(this.#node)));
    if (schema.oneOf !== undefined) nodes.push(exclusive(listAt(schema, "oneOf").map(this.#node), schema));
    if (typeof schema.$ref === "string") nodes.push(this.#refer(schema.$ref));
    return nodes;
  }

  #refer(pointer: string): Node {
    const done = this.#done.get(pointer);
    if (done !== undefined) return done;
    const open = this.#open.get(pointer);
    if (open !== undefined) return this.#meetAgain(pointer, open);
    if (pointer !== "#" && !pointer.startsWith("#/")) {
      return {
        kind: "opaque",
        why: `a $ref that is not a pointer into the schema: ${pointer}`,
        key: undefined,
      };
    }
    const opened: OpenRef = { depth: this.#depth, ref: undefined };
    this.#open.set(pointer, opened);
    const node = this.#node(this.#resolve(pointer));
    if (opened.ref !== undefined) opened.ref.target.node = node;
    this.#open.delete(pointer);
    this.#done.set(pointer, node);
    return node;
  }

  #meetAgain(pointer: string, open: OpenRef): RefNode {
    if (open.depth === this.#depth) {
      throw new BusError("INVALID_OPTION", `the schema refers to itself without end at ${pointer}`);
    }
    // Until its target is there, nobody may draw conclusions from it.
    open.ref ??= {
      kind: "ref",
      name: pointer,
      target: { node: { kind: "opaque", why: "unfinished", key: undefined } },
    };
    return open.ref;
  }

  #resolve(pointer: string): unknown {
    let at: unknown = this.#document;
    for (const part of pointer.split("/").slice(1)) {
      const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      const inside = typeof at === "object" && at !== null && Object.hasOwn(at, name);
      at = inside ? (at as Record<string, unknown>)[name] : undefined;
    }
    if (at === undefined)
      throw new BusError("INVALID_OPTION", `the schema refers to ${pointer}, which it does not have`);
    return at;
  }
}

function listAt(schema: JsonSchemaObject, keyword: string): readonly unknown[] {
  const list = schema[keyword] ?? [];
  if (!Array.isArray(list)) throw malformed(keyword, "an array of schemas");
  return list;
}

/** Exactly one of several: the same as any of them if no value fits two. */
function exclusive(branches: readonly Node[], schema: JsonSchemaObject): Node {
  const apart = branches.every((a, i) => branches.slice(i + 1).every((b) => disjoint(a, b)));
  if (apart) return unionOf(branches);
  const why = "exactly one of several alternatives that overlap";
  return intersect(unionOf(branches), { kind: "opaque", why, key: keyOf({ oneOf: schema.oneOf }) });
}

function marksOf(schema: JsonSchemaObject): OpaqueNode[] {
  const marks = (schema[OPAQUE] ?? []) as readonly OpaqueMark[];
  return marks.map(({ why, key }) => ({ kind: "opaque", why, key }));
}

function notUnderstood(schema: JsonSchemaObject): Node[] {
  const rest = new Set(
    Object.keys(schema).filter((name) => !READ.has(name) && !SILENT.has(name) && !name.startsWith("x-")),
  );
  if (rest.size === 0) return [];
  if (isEmptySchema(schema.not)) return [NEVER];
  const nodes: Node[] = [];
  for (const group of TOGETHER) {
    const present = group.filter((name) => rest.delete(name));
    if (present.length === 0) continue;
    const said = Object.fromEntries(present.map((name) => [name, schema[name]]));
    nodes.push({ kind: "opaque", why: `the keyword "${present[0]}"`, key: keyOf(said) });
  }
  for (const name of rest) nodes.push({ kind: "opaque", why: `the keyword "${name}"`, key: keyOf(schema) });
  return nodes;
}

function isEmptySchema(schema: unknown): boolean {
  return (
    schema === true || (typeof schema === "object" && schema !== null && Object.keys(schema).length === 0)
  );
}

/** The same text is the same set, unless it points elsewhere or code takes part. */
function keyOf(schema: unknown): string | undefined {
  const text = canonicalText(schema);
  return /"(?:\$ref|\$dynamicRef|\$recursiveRef|x-opaque)"/.test(text) ? undefined : text;
}
