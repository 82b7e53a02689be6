import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../../src/model/json.js";
import { checkCompat } from "../../../src/schema/compare/compatibility.js";
import { normalize } from "../../../src/schema/reading/normalize.js";
import type { JsonSchema } from "../../../src/schema/reading/schema-input.js";
import { edited, planted } from "./edits.js";
import { jsonSchema } from "./json-schemas.js";
import { judge } from "./judge.js";
import { valueNear } from "./near-values.js";
import { PROPERTY_TIMEOUT_MS, runs } from "./runs.js";
import { fail, judged, type Pair } from "./verdicts.js";

/** Two versions, with values near both. */
function withValues<T extends Case>(
  pairs: fc.Arbitrary<T>,
): fc.Arbitrary<readonly [T, readonly JsonValue[]]> {
  return pairs.chain((pair) => {
    const near = fc.oneof(valueNear(normalize(pair.older)), valueNear(normalize(pair.newer)));
    return fc.tuple(fc.constant(pair), fc.array(near, { minLength: 20, maxLength: 30 }));
  });
}

const unrelated = fc.record({ older: jsonSchema, newer: jsonSchema });

type Case = Pair<JsonSchema>;

/** With Ajv as the judge. */
const byAjv = (pair: Case, tried: readonly JsonValue[]): string => judged(pair, tried, judge);

describe("compatibility of random schemas, with Ajv as the judge", () => {
  it(
    "is never claimed where a value breaks it, and every counter-example is one",
    () => {
      fc.assert(
        fc.property(withValues(unrelated), ([pair, tried]) => {
          byAjv(pair, tried);
        }),
        { numRuns: runs(100) },
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    "holds the same for versions that differ in one place, and is mostly decided there",
    () => {
      const verdicts = new Map<string, number>();
      fc.assert(
        fc.property(withValues(edited), ([pair, tried]) => {
          const verdict = byAjv(pair, tried);
          verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
        }),
        { numRuns: runs(120) },
      );
      const share = (verdict: string): number => (verdicts.get(verdict) ?? 0) / runs(120);
      expect(share("unknown")).toBeLessThan(0.3);
      expect(Math.min(share("compatible"), share("incompatible"))).toBeGreaterThan(0.02);
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    "is denied wherever a break was planted, with a counter-example",
    () => {
      fc.assert(
        fc.property(planted, (pair) => {
          if (byAjv(pair, []) !== "incompatible") fail(pair, "not found", null);
          const { findings } = checkCompat(pair.older, pair.newer, "backward");
          if (!findings.some(({ counterExample }) => counterExample !== undefined))
            fail(pair, "no example", findings);
        }),
        { numRuns: runs(120) },
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it(
    "is found for a version and itself, wherever no code decides",
    () => {
      fc.assert(
        fc.property(jsonSchema, (schema) => {
          const report = checkCompat(schema, structuredClone(schema), "full");
          if (report.verdict === "incompatible")
            fail({ older: schema, newer: schema }, "not compatible with itself", report);
        }),
        { numRuns: runs(200) },
      );
    },
    PROPERTY_TIMEOUT_MS,
  );
});
