/** Keywords that are not understood: each adds an opaque part, so that what is known still counts. */
import { canonicalText } from "../../model/json.js";
import { NEVER, type Node } from "../tree/tree.js";
import { ARRAY_KEYWORDS, NUMBER_KEYWORDS, OBJECT_KEYWORDS, STRING_KEYWORDS } from "./keywords.js";
import { type JsonSchemaObject, OPAQUE } from "./schema-input.js";

const TYPED: readonly string[] = [
  ...NUMBER_KEYWORDS,
  ...STRING_KEYWORDS,
  ...ARRAY_KEYWORDS,
  ...OBJECT_KEYWORDS,
];
const READ: ReadonlySet<string> = new Set([
  ...TYPED,
  "type",
  "nullable",
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

/** Keywords that came with 2019 and 2020, or changed then. */
const DRAFTS_DIFFER =
  /"(?:items|prefixItems|additionalItems|dependentRequired|dependentSchemas|minContains|maxContains|unevaluated\w+)"/;

/** Whether it says something of one type of value. */
export function isTyped(schema: JsonSchemaObject): boolean {
  return TYPED.some((keyword) => schema[keyword] !== undefined);
}

/** `older`: read as drafts 6 and 7 have it. */
export function notUnderstood(schema: JsonSchemaObject, older: boolean): Node[] {
  const rest = new Set(
    Object.keys(schema).filter((name) => !isRead(name, older) && !SILENT.has(name) && !name.startsWith("x-")),
  );
  if (rest.size === 0) return [];
  if (isEmptySchema(schema.not)) return [NEVER];
  const nodes: Node[] = [];
  for (const group of TOGETHER) {
    const present = group.filter((name) => rest.delete(name));
    if (present.length === 0) continue;
    const said = Object.fromEntries(present.map((name) => [name, schema[name]]));
    nodes.push({ kind: "opaque", why: `the keyword "${present[0]}"`, key: keyOf(said, older) });
  }
  for (const name of rest)
    nodes.push({ kind: "opaque", why: `the keyword "${name}"`, key: keyOf(schema, older) });
  return nodes;
}

function isRead(keyword: string, older: boolean): boolean {
  return READ.has(keyword) && !(older && keyword === "prefixItems");
}

function isEmptySchema(schema: unknown): boolean {
  return (
    schema === true || (typeof schema === "object" && schema !== null && Object.keys(schema).length === 0)
  );
}

/** The same text is the same set, unless it points elsewhere, code takes part, or drafts read it differently. */
export function keyOf(schema: unknown, older: boolean): string | undefined {
  const text = canonicalText(schema);
  if (/"(?:\$ref|\$dynamicRef|\$recursiveRef|x-opaque)"/.test(text)) return undefined;
  return older && DRAFTS_DIFFER.test(text) ? `draft 7 ${text}` : text;
}
