/** Each rule of compatibility with both answers, and with Zod or Ajv confirming the counter-examples. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonValue } from "../../../src/model/json.js";
import { checkCompat } from "../../../src/schema/compare/compatibility.js";
import { isZodSchema, type SchemaInput } from "../../../src/schema/reading/schema-input.js";
import { judge } from "./judge.js";
import { RULES } from "./rules.js";

/** What the owner of the schema says of a value: Zod of a Zod schema, Ajv of a JSON Schema. */
function says(schema: SchemaInput, value: JsonValue): boolean {
  return isZodSchema(schema) ? z.safeParse(schema, value).success : judge(schema)(value);
}

describe("what may change between two versions", () => {
  it.each(RULES)(
    "$name: may be widened, not narrowed, for readers of old events",
    ({ wide, narrow, path = "payload", rule, example }) => {
      expect(checkCompat(narrow, wide, "backward")).toMatchObject({ verdict: "compatible", findings: [] });
      const refused = checkCompat(wide, narrow, "backward");
      expect(refused.verdict).toBe("incompatible");
      const finding = refused.findings.find((each) => rule.test(each.rule));
      expect(finding, JSON.stringify(refused.findings)).toMatchObject({
        verdict: "incompatible",
        path,
        side: "newer",
      });
      if (example !== undefined) expect(finding?.counterExample).toEqual(example);
      for (const { counterExample = null } of refused.findings) {
        expect(says(wide, counterExample)).toBe(true);
        expect(says(narrow, counterExample)).toBe(false);
      }
    },
  );

  it.each(RULES)("$name: may be narrowed, not widened, for old readers", ({ wide, narrow }) => {
    expect(checkCompat(wide, narrow, "forward").verdict).toBe("compatible");
    const refused = checkCompat(narrow, wide, "forward");
    expect(refused.verdict).toBe("incompatible");
    expect(refused.findings.filter(({ side }) => side !== "older")).toEqual([]);
  });

  it.each(RULES)(
    "$name: may not change where both directions count, and anything may where none does",
    ({ wide, narrow }) => {
      expect(checkCompat(wide, narrow, "full").verdict).toBe("incompatible");
      expect(checkCompat(narrow, wide, "full").verdict).toBe("incompatible");
      expect(checkCompat(wide, wide, "full").verdict).toBe("compatible");
      expect(checkCompat(wide, narrow, "none")).toMatchObject({ verdict: "compatible", findings: [] });
    },
  );
});
