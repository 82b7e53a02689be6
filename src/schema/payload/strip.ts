/**
 * A value without the members that its schema does not declare and leaves out (Zod's plain objects): what a publisher
 * writes. The value itself if nothing is left out. Where it cannot be told what is declared, nothing is.
 *
 * A tree is turned once into functions that look only where something can be left out: it is done at every publish.
 */

import type { JsonValue } from "../../model/json.js";
import { accepts, acceptsString, isObject } from "../tree/accept.js";
import { type ArrayNode, deref, type Node, type ObjectNode, type UnionNode } from "../tree/tree.js";
import { contains, isStripping } from "../tree/walk.js";
import { wholeOf } from "../tree/whole.js";

type Strip = (value: JsonValue) => JsonValue;
/** null: there is nothing to leave out. */
type MaybeStrip = Strip | null;

/** The value is one that the schema accepts. */
export function stripUndeclared(node: Node, value: JsonValue): JsonValue {
  const strip = stripOf(node);
  return strip === null ? value : strip(value);
}

const strips = new WeakMap<Node, MaybeStrip>();

export function stripOf(node: Node): MaybeStrip {
  let strip = strips.get(node);
  if (strip === undefined) {
    strip = contains(node, isStripping) ? newStrip(node) : null;
    strips.set(node, strip);
  }
  return strip;
}

function newStrip(node: Node): MaybeStrip {
  switch (node.kind) {
    case "object":
      return objectStrip(node);
    case "array":
      return arrayStrip(node);
    case "union":
      return unionStrip(node);
    case "intersection":
      return whenUsed(() => {
        const whole = wholeOf(node);
        return whole.kind === "intersection" ? null : stripOf(whole);
      });
    case "ref":
      return whenUsed(() => stripOf(deref(node)));
    default:
      return null;
  }
}

/** Made when it is first used: it may lead back to what is being made. */
function whenUsed(make: () => MaybeStrip): Strip {
  let strip: MaybeStrip | undefined;
  return (value) => {
    if (strip === undefined) strip = make();
    return strip === null ? value : strip(value);
  };
}

function arrayStrip({ prefix, rest }: ArrayNode): Strip {
  const first = prefix.map(stripOf);
  const others = stripOf(rest);
  return (items) => {
    if (!Array.isArray(items)) return items;
    let copy: JsonValue[] | undefined;
    for (let i = 0; i < items.length; i++) {
      const strip = i < first.length ? (first[i] as MaybeStrip) : others;
      if (strip === null) continue;
      const stripped = strip(items[i] as JsonValue);
      if (stripped === items[i]) continue;
      copy ??= [...(items as readonly JsonValue[])];
      copy[i] = stripped;
    }
    return copy ?? items;
  };
}

function objectStrip(node: ObjectNode): Strip {
  const declared = new Map([...node.properties].map(([name, property]) => [name, stripOf(property.node)]));
  const undeclared = undeclaredStrip(node);
  return (value) => {
    // The JSON form of what has a toJSON is made by its own code, later.
    if (!isObject(value) || typeof (value as { toJSON?: unknown }).toJSON === "function") return value;
    let copy: Record<string, JsonValue> | undefined;
    for (const name of Object.keys(value)) {
      const known = declared.get(name);
      if (known === null) continue;
      const strip = known ?? undeclared(name);
      const member = value[name] as JsonValue;
      const stripped = strip === undefined ? undefined : strip === null ? member : strip(member);
      if (stripped === member) continue;
      copy ??= { ...value };
      if (stripped === undefined) delete copy[name];
      else copy[name] = stripped;
    }
    return copy ?? value;
  };
}

/** Of a member that is not declared by name; undefined: it is left out. */
function undeclaredStrip({
  patterns,
  undeclared,
  additional,
}: ObjectNode): (name: string) => MaybeStrip | undefined {
  const rest = undeclared === "strip" ? undefined : stripOf(additional);
  if (patterns.length === 0) return () => rest;
  return (name) => {
    const matching = patterns.find(({ keys }) => acceptsString(keys, name) !== false);
    return matching === undefined ? rest : stripOf(matching.node);
  };
}

/** Nothing is left out of texts and numbers; of what remains, one alternative alone may be in question. */
function unionStrip(union: UnionNode): Strip {
  const forObjects = union.members.filter((member) => mayHold(member, "object"));
  const forArrays = union.members.filter((member) => mayHold(member, "array"));
  return (value) => {
    if (typeof value !== "object" || value === null) return value;
    const candidates = Array.isArray(value) ? forArrays : forObjects;
    const meant = candidates.length === 1 ? candidates[0] : alternativeOf(union, value);
    return meant === undefined ? value : stripUndeclared(meant, value);
  };
}

/** Whether a value of this kind may be one of the node's. */
export function mayHold(node: Node, kind: "object" | "array"): boolean {
  switch (node.kind) {
    case "never":
    case "number":
    case "string":
      return false;
    case "object":
    case "array":
      return node.kind === kind;
    case "enum":
      return node.values.some((value) => typeof value === "object" && value !== null);
    default:
      return true;
  }
}

/** The alternative that the value means: the first that surely accepts it, unless code may have chosen another before. */
function alternativeOf(union: UnionNode, value: JsonValue): Node | undefined {
  const answers = union.members.map((member) => accepts(member, value, "read"));
  const possible = union.members.filter((_, i) => answers[i] !== false);
  const sure = union.members.find((_, i) => answers[i] === true);
  return possible.length === 1 || possible[0] === sure ? possible[0] : undefined;
}
