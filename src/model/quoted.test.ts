import fc from "fast-check";
import { expect, it } from "vitest";
import { quoted } from "./quoted.js";

it("a text is quoted as JSON.stringify does it, whatever it holds", () => {
  const texts = fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fc.string({
      unit: fc.constantFrom('"', "\\", "\u0000", "\u007f", "\ud800", "\udc00", "a", " ", "\u2028"),
    }),
  );
  fc.assert(
    fc.property(texts, (text) => {
      expect(quoted(text)).toBe(JSON.stringify(text));
    }),
    { numRuns: 2_000 },
  );
});
