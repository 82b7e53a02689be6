/** Ajv as the judge of what a JSON Schema accepts, with the formats that the product asserts. */
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonValue } from "../../../src/model/json.js";
import { formatTests } from "../../../src/schema/format.js";
import type { JsonSchema } from "../../../src/schema/schema-input.js";

const ajv = new Ajv2020({
  strict: false,
  logger: false,
  ownProperties: true,
  formats: formatTests(),
  validateSchema: false,
});

export function judge(schema: JsonSchema): (value: JsonValue) => boolean {
  const validate = ajv.compile(schema);
  if (typeof schema === "object") ajv.removeSchema(schema);
  return (value) => validate(value);
}
