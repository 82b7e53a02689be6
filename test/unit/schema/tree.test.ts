import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { normalize } from "../../../src/schema/reading/normalize.js";
import { accepts } from "../../../src/schema/tree/accept.js";
import { anyValue, jsonSchema } from "./json-schemas.js";
import { judge } from "./judge.js";
import { PROPERTY_TIMEOUT_MS, runs } from "./runs.js";

describe("the tree of a JSON Schema", () => {
  it(
    "accepts what Ajv accepts and refuses what Ajv refuses, or says that it does not know",
    () => {
      let sure = 0;
      let asked = 0;
      fc.assert(
        fc.property(jsonSchema, fc.array(anyValue, { minLength: 5, maxLength: 15 }), (schema, values) => {
          const validate = judge(schema);
          const tree = normalize(schema);
          for (const value of values) {
            const answer = accepts(tree, value, "read");
            asked++;
            if (answer === undefined) continue;
            sure++;
            expect({ value, accepted: answer }).toEqual({ value, accepted: validate(value) });
          }
        }),
        { numRuns: runs(500) },
      );
      expect(sure / asked).toBeGreaterThan(0.6);
    },
    PROPERTY_TIMEOUT_MS,
  );
});
