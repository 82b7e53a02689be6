/**
 * JSON Schema (2020-12 and draft 7) into the tree. Each keyword is an assertion of its own and the node is the
 * intersection of them all, so a keyword that is not understood only adds an opaque part: what is known still counts.
 * Refs are resolved in place; one that meets itself again becomes a ref node.
 */
import { BusError } from "../../model/errors.js";
import type { JsonValue } from "../../model/json.js";
import { withBoundedWork } from "../patterns/language.js";
import { newBudget, withBudget } from "../tree/comparison-budget.js";
import { disjoint } from "../tree/disjoint.js";
import { identityOf } from "../tree/identity.js";
import { intersect } from "../tree/intersect.js";
import { settle } from "../tree/settle.js";
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
} from "../tree/tree.js";
import { arrayKeywords, malformed, numberKeywords, objectKeywords, stringKeywords } from "./keywords.js";
import {
  checkSchemaInput,
  isOlderDraft,
  isZodSchema,
  type JsonSchema,
  type JsonSchemaObject,
  OPAQUE,
  type OpaqueMark,
  type SchemaInput,
} from "./schema-input.js";
import { isTyped, keyOf, notUnderstood } from "./unread-keywords.js";
import { exportZod } from "./zod-export.js";

/** A schema as JSON Schema; a Zod schema by what it accepts, with marks where code decides. */
export function toJsonSchema(schema: SchemaInput): JsonSchema {
  checkSchemaInput(schema);
  return isZodSchema(schema) ? exportZod(schema) : schema;
}

/** A schema as a tree. INVALID_OPTION if it is not a schema. */
export function normalize(schema: SchemaInput): Node {
  const document = toJsonSchema(schema);
  try {
    return withBoundedWork(() => {
      const root = new Normalizer(document).root();
      return withBudget(() => settle(root));
    });
  } catch (error) {
    // The end of the stack: alternatives in alternatives, refs to refs, values in values.
    throw error instanceof RangeError ? tooDeep(error) : error;
  }
}

function tooDeep(cause: RangeError): BusError {
  return new BusError("INVALID_OPTION", "the schema is nested too deeply to be read", { cause });
}

/** Arrays and objects inside each other. */
const MAX_DEPTH = 200;
const TYPES = ["null", "boolean", "number", "string", "array", "object"] as const;
interface OpenRef {
  readonly depth: number;
  ref: RefNode | undefined;
}

class Normalizer {
  readonly #older: boolean;
  /** What refs point into: the document, or the part of it around us that has an id of its own. */
  #base: JsonSchema;
  readonly #done = new Map<string, Node>();
  readonly #open = new Map<string, OpenRef>();
  /** For telling alternatives apart. */
  readonly #budget = newBudget();
  /** How many arrays and objects enclose the place we are at. */
  #depth = 0;

  constructor(document: JsonSchema) {
    this.#older = isOlderDraft(document);
    this.#base = document;
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

  #within<T>(schema: JsonSchemaObject, work: () => T): T {
    const outer = this.#base;
    if (hasOwnId(schema)) this.#base = schema;
    const result = work();
    this.#base = outer;
    return result;
  }

  readonly #node = (schema: unknown): Node => {
    if (schema === true) return ANY;
    if (schema === false) return NEVER;
    if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
      throw new BusError("INVALID_OPTION", "this is not a JSON Schema: a schema is an object or a boolean");
    }
    return this.#within(schema as JsonSchemaObject, () => this.#asserted(schema as JsonSchemaObject));
  };

  #asserted(keywords: JsonSchemaObject): Node {
    return intersect(
      this.#byType(keywords),
      ...this.#byValue(keywords),
      ...this.#combined(keywords),
      ...marksOf(keywords),
      ...notUnderstood(keywords, this.#older),
    );
  }

  #byType(schema: JsonSchemaObject): Node {
    if (schema.type === undefined && !isTyped(schema)) return ANY;
    const types = schema.type === undefined ? TYPES : [schema.type].flat();
    if (types.length === 0) throw malformed("type", "a type, or several");
    // OpenAPI's word for null beside a type; the validator takes it, too.
    const nullable = schema.nullable === true && schema.type !== undefined;
    return unionOf([...types.map((type) => this.#ofType(type, schema)), nullable ? NULL : NEVER]);
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
        return arrayKeywords(schema, this.#inside, this.#older);
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
    if (schema.oneOf !== undefined)
      nodes.push(this.#exclusive(listAt(schema, "oneOf").map(this.#node), schema));
    if (typeof schema.$ref === "string") nodes.push(this.#refer(schema.$ref));
    return nodes;
  }

  #refer(pointer: string): Node {
    if (pointer !== "#" && !pointer.startsWith("#/")) {
      return {
        kind: "opaque",
        why: `a $ref that is not a pointer into the schema: ${pointer}`,
        key: undefined,
      };
    }
    const key = `${identityOf(Object(this.#base))}${pointer}`;
    const done = this.#done.get(key);
    if (done !== undefined) return done;
    const open = this.#open.get(key);
    if (open !== undefined) return this.#meetAgain(pointer, open);
    const opened: OpenRef = { depth: this.#depth, ref: undefined };
    this.#open.set(key, opened);
    const node = this.#resolve(pointer);
    if (opened.ref !== undefined) opened.ref.target.node = node;
    this.#open.delete(key);
    this.#done.set(key, node);
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

  /** What a pointer leads to; on the way it may come into a part with an id of its own. */
  #resolve(pointer: string): Node {
    const outer = this.#base;
    let at: unknown = this.#base;
    for (const part of pointer.split("/").slice(1)) {
      const name = decoded(part)?.replaceAll("~1", "/").replaceAll("~0", "~");
      if (name === undefined) throw malformed("$ref", "a pointer whose % begin two digits", pointer);
      const inside = typeof at === "object" && at !== null && Object.hasOwn(at, name);
      at = inside ? (at as Record<string, unknown>)[name] : undefined;
      if (hasOwnId(at)) this.#base = at;
    }
    if (at === undefined)
      throw new BusError("INVALID_OPTION", `the schema refers to ${pointer}, which it does not have`);
    const node = this.#node(at);
    this.#base = outer;
    return node;
  }

  /** Exactly one of several: the same as any of them if no value fits two, as far as that can be known. */
  #exclusive(branches: readonly Node[], schema: JsonSchemaObject): Node {
    const apart = withBudget(
      () => branches.every((a, i) => branches.slice(i + 1).every((b) => disjoint(a, b))),
      this.#budget,
    );
    if (apart) return unionOf(branches);
    const why = "exactly one of several alternatives that overlap";
    return intersect(unionOf(branches), {
      kind: "opaque",
      why,
      key: keyOf({ oneOf: schema.oneOf }, this.#older),
    });
  }
}

/** An id that is not the name of a place only. */
function hasOwnId(schema: unknown): schema is JsonSchemaObject {
  if (typeof schema !== "object" || schema === null) return false;
  const { $id } = schema as JsonSchemaObject;
  return typeof $id === "string" && !$id.startsWith("#");
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

function listAt(schema: JsonSchemaObject, keyword: string): readonly unknown[] {
  const list = schema[keyword] ?? [];
  if (!Array.isArray(list)) throw malformed(keyword, "an array of schemas");
  return list;
}

function marksOf(schema: JsonSchemaObject): OpaqueNode[] {
  const marks = (schema[OPAQUE] ?? []) as readonly OpaqueMark[];
  return marks.map(({ why, key }) => ({ kind: "opaque", why, key }));
}
