/** A single node against alternatives: which of them can it mean, and does one of them, or all together, take it? */
import { accepts } from "../tree/accept.js";
import { describeNode } from "../tree/describe-node.js";
import { disjoint } from "../tree/disjoint.js";
import { samples } from "../tree/sample.js";
import {
  enumOf,
  type Node,
  type NumberNode,
  type ObjectNode,
  objectOf,
  type UnionNode,
} from "../tree/tree.js";
import {
  aside,
  type Context,
  FITS,
  type Findings,
  firstWitness,
  isUsedUp,
  lift,
  pathText,
  shownBy,
  tooLarge,
  unsure,
} from "./compare-context.js";

/** Sets up to this size are looked at value by value. */
const MAX_VALUES = 64;

export function compareToUnion(a: Node, b: UnionNode, context: Context): Findings {
  if (a.kind === "number" && coversAll(a, b)) return FITS;
  // A node has nothing to do with alternatives that share no value with it.
  const near = b.members.filter((member) => !disjoint(a, member));
  const [only] = near;
  if (only === undefined) return shownBy(context, uncovered(a, b, context), [a, b], samples(a));
  if (near.length === 1) return context.compare(a, only, context);
  const tries = near.map((member) => context.compare(a, member, aside(context)));
  const fitting = near.find((_, i) => tries[i]?.length === 0);
  if (fitting !== undefined) return context.compare(a, fitting, context);
  const parts = a.kind === "object" ? byDiscriminator(a, near) : [];
  if (parts.length > 0) return distinct(parts.flatMap((part) => compareToUnion(part, b, context)));
  return closest(a, b, tries, context);
}

function uncovered(a: Node, b: UnionNode, context: Context): string {
  return `the ${context.writer} version allows ${describeNode(a)}, the ${context.reader} one only ${describeNode(b)}`;
}

/** Whether it is so few integers that each can be looked at, and all are taken. */
export function coversAll(a: NumberNode, b: Node): boolean {
  // Beyond the safe integers the next one cannot be counted to.
  if (!a.integer || !Number.isSafeInteger(a.min) || !Number.isSafeInteger(a.max)) return false;
  if (a.max - a.min >= MAX_VALUES) return false;
  for (let n = a.min; n <= a.max; n++)
    if (accepts(a, n, "write") !== false && accepts(b, n, "read") !== true) return false;
  return true;
}

/** The object once for each value of a member that tells the alternatives apart; empty if there is no such member. */
function byDiscriminator(a: ObjectNode, alternatives: readonly Node[]): Node[] {
  for (const [name, { node, presence }] of a.properties) {
    if (
      presence !== "required" ||
      node.kind !== "enum" ||
      node.values.length < 2 ||
      node.values.length > MAX_VALUES
    )
      continue;
    const parts = node.values.map((value) =>
      objectOf({ ...a, properties: new Map(a.properties).set(name, { node: enumOf([value]), presence }) }),
    );
    const helps = parts.some((part) => alternatives.some((alternative) => disjoint(part, alternative)));
    if (helps) return parts;
  }
  return [];
}

function distinct(findings: Findings): Findings {
  const seen = new Set<string>();
  return findings.filter(({ path, rule }) => {
    const text = `${pathText(path)} ${rule}`;
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}

/** No alternative fits alone. What the nearest one misses is the best explanation, if no other takes those values. */
function closest(a: Node, b: UnionNode, tries: readonly Findings[], context: Context): Findings {
  const [nearest = FITS] = [...tries].sort((x, y) => x.length - y.length);
  const shown = lift(nearest, [a, b], (witness) => witness).filter(
    ({ verdict, witness }) => verdict === "breaks" && witness !== undefined,
  );
  if (shown.length > 0) return shown;
  const witnesses = tries.flat().flatMap(({ witness }) => (witness === undefined ? [] : [witness]));
  const witness = firstWitness([a, b], [...witnesses, ...samples(a)]);
  if (witness !== undefined) return shownBy(context, uncovered(a, b, context), [a, b], [witness]);
  if (isUsedUp(context)) return tooLarge(context);
  return unsure(
    context,
    `no single alternative of the ${context.reader} version takes all of ${describeNode(a)}`,
  );
}
