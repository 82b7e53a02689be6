/** The product's own validators as the judges of what a schema accepts: Zod of a Zod schema, Ajv of a JSON Schema. */
import type { JsonValue } from "../../../src/model/json.js";
import { parserOf, readyParserOf } from "../../../src/schema/payload/validator.js";
import { isZodSchema, type SchemaInput } from "../../../src/schema/reading/schema-input.js";

export function judge(schema: SchemaInput): (value: JsonValue) => boolean {
  const parse = parserOf(schema);
  return (value) => parse(value).fits;
}

/** Ajv does not find every ref in a part with an id of its own; such schemas are not registered. */
export function isUsable(schema: SchemaInput): boolean {
  if (isZodSchema(schema) || !JSON.stringify(schema).includes('"$id"')) return true;
  try {
    readyParserOf(schema);
    return true;
  } catch {
    return false;
  }
}
