import { describe, expect, it } from "vitest";
import { exampleOf, violations } from "./schema-check.js";

const ORDER = {
  type: "object",
  properties: {
    order: { type: "integer", minimum: 1 },
    mail: { type: "string", minLength: 3 },
    state: { enum: ["new", "paid"] },
    lines: { type: "array", items: { $ref: "#/$defs/line" } },
    note: { anyOf: [{ type: "string" }, { type: "null" }] },
  },
  required: ["order", "state"],
  additionalProperties: false,
  $defs: { line: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] } },
};

describe("the check in the publish form", () => {
  it("finds nothing wrong with what fits", () => {
    expect(violations(ORDER, { order: 7, state: "new", lines: [{ sku: "a" }], note: null })).toEqual([]);
  });

  it("names each place and what is wrong there", () => {
    const wrong = { order: 0, mail: "x", state: "gone", lines: [{}], note: 4, more: 1 };
    expect(violations(ORDER, wrong)).toEqual([
      { path: "order", message: "must be at least 1" },
      { path: "mail", message: "must have at least 3 characters" },
      { path: "state", message: 'must be one of "new", "paid"' },
      { path: "lines[0].sku", message: "is missing" },
      { path: "note", message: "fits none of the forms it may have" },
      { path: "more", message: "is not declared" },
    ]);
    expect(violations(ORDER, [])).toEqual([{ path: "", message: "must be object" }]);
  });

  it("begins with a payload that fits", () => {
    expect(violations(ORDER, exampleOf(ORDER))).toEqual([]);
    expect(exampleOf(ORDER)).toEqual({ order: 1, state: "new" });
  });
});
