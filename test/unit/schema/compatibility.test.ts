import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../../src/model/json.js";
import { checkCompat } from "../../../src/schema/compatibility.js";
import { normalize } from "../../../src/schema/normalize.js";
import type { JsonSchema } from "../../../src/schema/schema-input.js";
import { edited, planted } from "./edits.js";
import { jsonSchema } from "./json-schemas.js";
import { judge } from "./judge.js";
import { valueNear } from "./near-values.js";
import { PROPERTY_TIMEOUT_MS, runs } from "./runs.js";

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

interface Case {
  readonly older: JsonSchema;
  readonly newer: JsonSchema;
}

function fail(what: string, found: Case, value: unknown): never {
  throw new Error(
    `${what}: ${JSON.stringify(value)}\nolder ${JSON.stringify(found.older)}\nnewer ${JSON.stringify(found.newer)}`,
  );
}

/** Checks one direction of an answer against Ajv. Returns the verdict. */
function judged(pair: Case, tried: readonly JsonValue[]): string {
  const report = checkCompat(pair.older, pair.newer, "backward");
  const [older, newer] = [judge(pair.older), judge(pair.newer)];
  for (const value of tried) {
    if (report.verdict === "compatible" && older(value) && !newer(value))
      fail("called compatible, but for", pair, value);
  }
  for (const finding of report.findings) {
    const { counterExample } = finding;
    if (counterExample === undefined) continue;
    if (!older(counterExample))
      fail(`the older version refuses the counter-example of "${finding.rule}"`, pair, counterExample);
    if (newer(counterExample))
      fail(`the newer version takes the counter-example of "${finding.rule}"`, pair, counterExample);
  }
  return report.verdict;
}

describe("compatibility of random schemas, with Ajv as the judge", () => {
  it(
    "is never claimed where a value breaks it, and every counter-example is one",
    () => {
      fc.assert(
        fc.property(withValues(unrelated), ([pair, tried]) => {
          judged(pair, tried);
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
          const verdict = judged(pair, tried);
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
          if (judged(pair, []) !== "incompatible") fail("not found", pair, null);
          const { findings } = checkCompat(pair.older, pair.newer, "backward");
          if (!findings.some(({ counterExample }) => counterExample !== undefined))
            fail("no example", pair, findings);
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
            fail("not compatible with itself", { older: schema, newer: schema }, report);
        }),
        { numRuns: runs(200) },
      );
    },
    PROPERTY_TIMEOUT_MS,
  );
});
