import fc from "fast-check";
import { BSON } from "mongodb";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../model/json.js";
import { bsonName, bsonPath, fromBson, plainName, toBson } from "./bson-json.js";

/** Through the very bytes that go to the server. */
function throughBson(value: JsonValue): JsonValue {
  const bytes = BSON.serialize({ value: toBson(value) }, { checkKeys: false });
  return fromBson(BSON.deserialize(bytes).value);
}

const text = fc.string({
  unit: fc.oneof(fc.constantFrom("\0", ".", "$", "\ud800", "\udc00", "\u0001"), fc.string()),
});
const name = fc.oneof(
  text,
  fc.constantFrom("__proto__", "_bsontype", "$ref", "$id", "$where", "a.b", "", "constructor"),
);
const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    text,
    fc.array(tie("json"), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie("json")), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
}));

describe("JSON in BSON", () => {
  it("comes out as it went in, whatever its names and strings are", () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.stringify(throughBson(value))).toBe(JSON.stringify(value));
      }),
      { numRuns: 500 },
    );
  });

  it("keeps what looks like a reference or a driver's type as data", () => {
    const value = {
      $ref: "a.b",
      $id: 1,
      $db: "x",
      nested: { _bsontype: "ObjectId", ["__proto__"]: { polluted: true } },
    };
    expect(throughBson(value)).toEqual(value);
    expect(Object.hasOwn((throughBson(value) as { nested: object }).nested, "__proto__")).toBe(true);
  });

  it("stores ordinary documents unchanged, so that they can be queried", () => {
    const value = { host: "a", tags: ["x", { y: 1 }], note: "ünïcode 🎉" };
    expect(toBson(value)).toBe(value);
    expect(bsonPath("host.name")).toBe("host.name");
  });

  it("no stored name has a dot, a NUL or begins with a dollar", () => {
    fc.assert(
      fc.property(name, (original) => {
        const stored = bsonName(original);
        expect(stored).toMatch(/^[^$.\0][^.\0]*$/u);
        expect(plainName(stored)).toBe(original);
      }),
    );
  });
});
