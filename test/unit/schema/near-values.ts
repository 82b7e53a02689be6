/** Values made along a schema's tree, so that most of them fit it, and some almost do. */
import fc from "fast-check";
import type { JsonValue } from "../../../src/model/json.js";
import { samples } from "../../../src/schema/tree/sample.js";
import { deref, type Node, type ObjectNode } from "../../../src/schema/tree/tree.js";
import { anyValue, scalar, text } from "./json-schemas.js";

export function valueNear(node: Node, depth = 0): fc.Arbitrary<JsonValue> {
  const made = along(node, depth);
  return depth === 0 ? fc.oneof({ weight: 9, arbitrary: made }, { weight: 1, arbitrary: anyValue }) : made;
}

function along(node: Node, depth: number): fc.Arbitrary<JsonValue> {
  if (depth > 4) return scalar;
  const found = samples(node);
  const sampled = found.length > 0 ? fc.constantFrom(...found) : anyValue;
  switch (node.kind) {
    case "array": {
      const item = (i: number): fc.Arbitrary<JsonValue> => along(node.prefix[i] ?? node.rest, depth + 1);
      const length = fc.integer({
        min: Math.min(node.minItems, 3),
        max: Math.min(node.maxItems, node.minItems + 3, 6),
      });
      return length.chain((count) => fc.tuple(...Array.from({ length: count }, (_, i) => item(i))));
    }
    case "object":
      return objectAlong(node, depth);
    case "union":
      return fc.oneof(...node.members.map((member) => along(member, depth)));
    case "ref":
      return along(deref(node), depth + 1);
    case "intersection":
      return fc.oneof(sampled, ...node.members.map((member) => along(member, depth)));
    case "string":
      return fc.oneof(sampled, text);
    case "number":
      return fc.oneof(sampled, scalar);
    case "any":
    case "opaque":
      return anyValue;
    case "enum":
    case "never":
      return sampled;
  }
}

function objectAlong(node: ObjectNode, depth: number): fc.Arbitrary<JsonValue> {
  const declared = [...node.properties].filter(([, { node: member }]) => member.kind !== "never");
  const members = Object.fromEntries(
    declared.map(([name, { node: member }]) => [name, along(member, depth + 1)]),
  );
  const required = declared.filter(([, { presence }]) => presence === "required").map(([name]) => name);
  const others = [...node.patterns.map((pattern) => pattern.node), node.additional].filter(
    ({ kind }) => kind !== "never",
  );
  const extra = fc.dictionary(
    fc.constantFrom("a", "b", "x1", "zz", "kind", "12"),
    fc.oneof(scalar, ...others.map((other) => along(other, depth + 1))),
    {
      maxKeys: others.length === 0 ? 0 : 2,
      noNullPrototype: true,
    },
  );
  return fc
    .tuple(extra, fc.record(members, { requiredKeys: required, noNullPrototype: true }))
    .map(([e, m]) => ({ ...e, ...m }));
}
