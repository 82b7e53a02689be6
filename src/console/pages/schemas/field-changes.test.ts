import { describe, expect, it } from "vitest";
import { fieldChanges } from "./field-changes.js";

describe("what changed between two schemas", () => {
  it("names fields that came, went and changed, also within lists", () => {
    const older = {
      type: "object",
      properties: {
        order: { type: "integer" },
        gone: { type: "string" },
        items: { type: "array", items: { type: "object", properties: { sku: { type: "string" } } } },
      },
      required: ["order"],
    };
    const newer = {
      type: "object",
      properties: {
        order: { type: "integer", minimum: 1 },
        currency: { enum: ["EUR", "USD"] },
        items: {
          type: "array",
          items: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] },
        },
      },
      required: ["order", "currency"],
    };
    expect(fieldChanges(older, newer)).toEqual([
      { kind: "changed", path: "order", words: 'no limits became {"minimum":1}' },
      { kind: "added", path: "currency", words: '"EUR" | "USD", required' },
      { kind: "changed", path: "items[].sku", words: "is now required" },
      { kind: "removed", path: "gone", words: "was string, optional" },
    ]);
    expect(fieldChanges(older, older)).toEqual([]);
  });
});
