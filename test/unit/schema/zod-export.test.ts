import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import type { JsonValue } from "../../../src/model/json.js";
import { normalize, toJsonSchema } from "../../../src/schema/reading/normalize.js";
import { accepts } from "../../../src/schema/tree/accept.js";
import { anyValue } from "./json-schemas.js";
import { judge } from "./judge.js";
import { PROPERTY_TIMEOUT_MS, runs } from "./runs.js";
import { zodSays, zodSchema } from "./zod-schemas.js";

const values = fc.array(anyValue, { minLength: 5, maxLength: 15 });

function report(schema: z.ZodType, value: JsonValue, what: string): never {
  throw new Error(`${what}: ${JSON.stringify(value)} under ${JSON.stringify(toJsonSchema(schema))}`);
}

describe("a Zod schema, exported", () => {
  it(
    "has a tree that accepts what Zod accepts and refuses what Zod refuses, or says that it does not know",
    () => {
      let sure = 0;
      let asked = 0;
      fc.assert(
        fc.property(zodSchema, values, (schema, tried) => {
          const tree = normalize(schema);
          for (const value of tried) {
            const answer = accepts(tree, value, "read");
            asked++;
            if (answer === undefined) continue;
            sure++;
            if (answer !== zodSays(schema, value)) report(schema, value, `the tree says ${answer}`);
          }
        }),
        { numRuns: runs(500) },
      );
      expect(sure / asked).toBeGreaterThan(0.4);
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    "is a JSON Schema that refuses nothing that Zod accepts",
    () => {
      fc.assert(
        fc.property(zodSchema, values, (schema, tried) => {
          const validate = judge(toJsonSchema(schema));
          for (const value of tried) {
            if (zodSays(schema, value) && !validate(value)) report(schema, value, "only Zod accepts");
          }
        }),
        { numRuns: runs(300) },
      );
    },
    PROPERTY_TIMEOUT_MS,
  );
});
