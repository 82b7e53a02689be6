/** Objects: which members must be there, what each may be, and what happens to members nobody declared. */
import type { JsonValue } from "../../model/json.js";
import { acceptsString } from "../tree/accept.js";
import { intersect, memberOf } from "../tree/intersect.js";
import { membersOf, sample } from "../tree/sample.js";
import { additionalOf, type Node, type ObjectNode, objectOf, opennessOf } from "../tree/tree.js";
import {
  at,
  type Context,
  FITS,
  type Findings,
  findInEach,
  lift,
  pathText,
  shownBy,
  unsure,
} from "./compare-context.js";
import { compareUndeclared } from "./compare-undeclared.js";

export function compareObjects(a: ObjectNode, b: ObjectNode, context: Context): Findings {
  noteObject(a, b, context);
  const names = new Set([...a.properties.keys(), ...b.properties.keys()]);
  return [
    ...findInEach(names, (name) => comparePresence(a, b, name, context)),
    ...findInEach(names, (name) => compareMember(a, b, name, context)),
    ...compareUndeclared(a, b, context),
    ...compareCounts(a, b, context),
  ];
}

/** Objects that are told of: where alternatives are nested, there are many more ways into a value than parts of the schema. */
const MAX_NOTES = 1_000;

function noteObject(a: ObjectNode, b: ObjectNode, { path, shared: { objects } }: Context): void {
  if (objects.size < MAX_NOTES)
    objects.set(pathText(path), { path, written: opennessOf(a), read: opennessOf(b) });
}

function comparePresence(a: ObjectNode, b: ObjectNode, name: string, context: Context): Findings {
  const needed = b.properties.get(name)?.presence ?? "optional";
  const given = a.properties.get(name)?.presence ?? "optional";
  if (needed === "optional" || given === "required") return FITS;
  const inside = at(context, name);
  if (needed === "unsure" || given === "unsure")
    return unsure(inside, `code decides whether ${JSON.stringify(name)} may be absent`);
  const rule = `the ${context.reader} version requires ${JSON.stringify(name)}, the ${context.writer} one may leave it out`;
  const { [name]: _, ...without } = membersOf(a, {}) ?? {};
  const needing = objectOf({
    properties: new Map([[name, { node: { kind: "any" }, presence: "required" }]]),
  });
  return shownBy(inside, rule, [a, needing], [without]);
}

function compareMember(a: ObjectNode, b: ObjectNode, name: string, context: Context): Findings {
  const inside = at(context, name);
  const written = writtenMember(a, name);
  const read = memberOf(b, name)?.node;
  if (written?.kind === "never") return FITS;
  if (written === undefined || read === undefined)
    return unsure(inside, "a format decides what this member may be");
  const findings = lift(context.compare(written, read, inside), [a, b], (witness) =>
    membersOf(a, { [name]: witness }),
  );
  if (a.properties.has(name)) return findings;
  const undeclared = `the ${context.writer} version does not declare ${JSON.stringify(name)} and lets it pass`;
  return findings.map((finding) => ({ ...finding, rule: `${undeclared}: ${finding.rule}` }));
}

/** What the writer may put under a name; never if it leaves such a member out. */
function writtenMember(a: ObjectNode, name: string): Node | undefined {
  const declared = a.properties.get(name);
  if (declared !== undefined) return declared.node;
  const answers = a.patterns.map(({ keys }) => acceptsString(keys, name));
  if (answers.includes(undefined)) return undefined;
  const matching = a.patterns.filter((_, i) => answers[i]);
  return matching.length > 0 ? intersect(...matching.map(({ node }) => node)) : additionalOf(a, "write");
}

function compareCounts(a: ObjectNode, b: ObjectNode, context: Context): Findings {
  const { writer, reader } = context;
  const required = [...a.properties.values()].filter(({ presence }) => presence === "required").length;
  const closed = a.patterns.length === 0 && additionalOf(a, "write").kind === "never";
  const possible = closed
    ? [...a.properties.values()].filter(({ node }) => node.kind !== "never").length
    : Infinity;
  return [
    ...(Math.max(a.minProperties, required) >= b.minProperties
      ? FITS
      : shownBy(
          context,
          `the ${reader} version wants at least ${b.minProperties} members, the ${writer} one allows fewer`,
          [a, objectOf({ minProperties: b.minProperties })],
          [membersOf(a, {}) ?? {}],
        )),
    ...(Math.min(a.maxProperties, possible) <= b.maxProperties
      ? FITS
      : shownBy(
          context,
          `the ${reader} version wants at most ${b.maxProperties} members, the ${writer} one allows more`,
          [a, objectOf({ maxProperties: b.maxProperties })],
          many(a, b.maxProperties + 1),
        )),
  ];
}

/** An object with at least so many members. */
function many(a: ObjectNode, count: number): JsonValue[] {
  const full =
    count > 1_000 ? undefined : membersOf({ ...a, minProperties: Math.max(a.minProperties, count) }, {});
  if (full !== undefined) return [full];
  const members = [...a.properties].map(([name, { node }]): [string, JsonValue | undefined] => [
    name,
    sample(node),
  ]);
  return [
    Object.fromEntries(members.filter((member): member is [string, JsonValue] => member[1] !== undefined)),
  ];
}
