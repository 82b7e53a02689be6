import { describe, expect, it } from "vitest";
import { type FieldChange, fieldChanges } from "./field-changes.js";

const STRIPPED = "leaving out members that are not declared";

/** Of versions of an object's one member. */
function changeOf(older: object, newer: object): string[] {
  const whole = (member: object): object => ({ type: "object", properties: { member } });
  return fieldChanges(whole(older), whole(newer)).map(({ path, words }) => `${path} ${words}`);
}

describe("what changed between two schemas", () => {
  it("names fields that came, went and changed, also within lists", () => {
    const older = {
      type: "object",
      properties: {
        order: { type: "integer" },
        gone: { type: "string" },
        items: { type: "array", items: { type: "object", properties: { sku: { type: "string" } } } },
        tags: { type: "array", items: { type: "string" } },
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
        tags: { type: "array", items: { type: "string", maxLength: 20 } },
      },
      required: ["order", "currency"],
    };
    expect(fieldChanges(older, newer)).toEqual<FieldChange[]>([
      { kind: "changed", path: "order", words: "now at least 1" },
      { kind: "added", path: "currency", words: '"EUR" | "USD", required' },
      { kind: "changed", path: "items[].sku", words: "is now required" },
      { kind: "changed", path: "tags[]", words: "now at most 20 characters" },
      { kind: "removed", path: "gone", words: "was string, optional" },
    ]);
    expect(fieldChanges(older, older)).toEqual([]);
  });

  it("says what is made of a schema of Zod in words", () => {
    const integer = { type: "integer", maximum: Number.MAX_SAFE_INTEGER };
    const number = { type: "number" };
    const strip = { "x-undeclared": "strip" };
    const place = { type: "object", properties: { x: number }, required: ["x"], ...strip };
    const older = {
      type: "object",
      properties: {
        count: { ...integer, minimum: Number.MIN_SAFE_INTEGER },
        note: { type: "string" },
        at: place,
      },
      required: ["count", "at"],
      ...strip,
    };
    const newer = {
      type: "object",
      properties: {
        count: { anyOf: [{ ...integer, minimum: 5 }, { type: "null" }] },
        note: { type: "string", maxLength: 1, default: "-" },
        at: place,
        rest: { type: "object", propertyNames: { type: "string" }, additionalProperties: number },
        box: { ...place, properties: { y: { type: "boolean" } } },
      },
      required: ["count", "at", "rest", "box"],
      additionalProperties: false,
    };
    expect(fieldChanges(older, newer).map(({ path, words }) => [path, words])).toEqual([
      ["the payload", `${STRIPPED} became refusing members that are not declared`],
      ["count", "integer became integer (at least 5) or null"],
      ["note", 'now at most 1 character; now "-" by default'],
      ["rest", "object, required, with other members that are number"],
      ["box", `object, required, ${STRIPPED}`],
      ["box.y", "boolean, optional"],
    ]);
  });

  it.each<[object, object, string[]]>([
    [{ type: "number", minimum: 1 }, { type: "number", minimum: 2 }, ["at least 1 became at least 2"]],
    [{ type: "number", multipleOf: 5 }, { type: "number" }, ["no longer a multiple of 5"]],
    [{ uniqueItems: true }, { uniqueItems: false }, ["no longer without repeats"]],
    [{ deprecated: false }, {}, []],
    [{ format: "email" }, { format: "uri" }, ["in the format email became in the format uri"]],
    [{ "x-opaque": [{ why: "a" }] }, { "x-opaque": [{ why: "b" }] }, ["its x-opaque changed"]],
    [{ additionalProperties: {} }, {}, []],
    [{ additionalProperties: false }, {}, ["no longer refusing members that are not declared"]],
    [{ contains: { type: "string" } }, {}, ["no longer with contains"]],
    [{}, { not: {} }, ["now with not"]],
    [{ not: {} }, { not: true }, ["its not changed"]],
    [{ contentEncoding: "base64" }, {}, ['no longer with contentEncoding "base64"']],
    [
      { anyOf: [{ type: "object", properties: { a: {} } }, { type: "null" }] },
      { anyOf: [{ type: "object", properties: { b: {} } }, { type: "null" }] },
      ["its anyOf changed"],
    ],
    [{ properties: { a: true } }, { properties: { a: false } }, []],
  ])("%j and %j: %j", (older, newer, words) => {
    expect(changeOf(older, newer).filter((line) => !line.startsWith("member.a"))).toEqual(
      words.map((one) => `member ${one}`),
    );
  });
});
