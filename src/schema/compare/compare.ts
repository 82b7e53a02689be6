/**
 * Whether everything that one schema writes is taken by another: a proof by cases over both trees. No findings means
 * proven. A finding that breaks comes with a value where one could be made, checked against both sides; a finding
 * that is unsure says what could not be shown. The comparison never guesses that schemas fit.
 */
import type { JsonValue } from "../../model/json.js";
import { accepts } from "../tree/accept.js";
import { describeNode, listValues } from "../tree/describe-node.js";
import { disjoint } from "../tree/disjoint.js";
import { identityOf } from "../tree/identity.js";
import { samples } from "../tree/sample.js";
import {
  ANY,
  arrayOf,
  BOOLEAN,
  deref,
  type EnumNode,
  type IntersectionNode,
  type Node,
  NULL,
  numberOf,
  type OpaqueNode,
  objectOf,
  stringOf,
  type UnionNode,
  unionOf,
} from "../tree/tree.js";
import { contains, isStripping } from "../tree/walk.js";
import { wholeOf } from "../tree/whole.js";
import { compareArrays } from "./compare-arrays.js";
import {
  aside,
  type Context,
  FITS,
  type Findings,
  findInEach,
  isUsedUp,
  type ObjectNote,
  shownBy,
  toldOf,
  tooLarge,
  unsure,
} from "./compare-context.js";
import { compareNumbers } from "./compare-numbers.js";
import { compareObjects } from "./compare-objects.js";
import { compareStrings } from "./compare-strings.js";
import { compareToUnion, coversAll } from "./compare-unions.js";

const MAX_STEPS = 20_000;
/** Pairs taken to fit, one inside the other: what goes deeper may go on without end, and the stack does not. */
const MAX_OPEN_PAIRS = 250;

/** Any value, kind by kind. */
const EVERYTHING = unionOf([NULL, BOOLEAN, numberOf(), stringOf(), arrayOf(), objectOf()]) as UnionNode;

export interface Comparison {
  readonly findings: Findings;
  readonly objects: readonly ObjectNote[];
}

/** Compares what `written` writes with what `read` reads; the names of the two are for people. */
export function compareTrees(
  written: Node,
  read: Node,
  names: { readonly writer: string; readonly reader: string },
): Comparison {
  const shared = { steps: { left: MAX_STEPS }, objects: new Map<string, ObjectNote>() };
  const context: Context = { ...names, path: [], assumed: new Set(), shared, compare };
  const findings = compare(written, read, context);
  // What is open may be so only because no more could be looked at. A proof that was finished counts.
  return { findings: toldOf(findings, isUsedUp(context)), objects: [...shared.objects.values()] };
}

function compare(a: Node, b: Node, context: Context): Findings {
  if (isUsedUp(context)) return tooLarge(context);
  context.shared.steps.left--;
  if (a === b || a.kind === "never" || b.kind === "any") return FITS;
  if (a.kind === "ref" || b.kind === "ref") return compareRefs(a, b, context);
  if (a.kind === "union") return findInEach(a.members, (member) => compare(member, b, context));
  if (b.kind === "intersection") return findInEach(b.members, (member) => compare(a, member, context));
  if (a.kind === "intersection") return compareIntersection(a, b, context);
  if (a.kind === "opaque" || b.kind === "opaque") return compareOpaque(a, b, context);
  if (b.kind === "never")
    return shownBy(context, `the ${context.reader} version takes nothing here`, [a, b], samples(a));
  if (a.kind === "any") return compareEverything(b, context);
  if (a.kind === "enum") return compareValues(a, b, context);
  if (b.kind === "union") return compareToUnion(a, b, context);
  if (a.kind === "number" && b.kind === "enum" && coversAll(a, b)) return FITS;
  if (a.kind === "number" && b.kind === "number") return compareNumbers(a, b, context);
  if (a.kind === "string" && b.kind === "string") return compareStrings(a, b, context);
  if (a.kind === "array" && b.kind === "array")
    return assuming(a, b, context, (within) => compareArrays(a, b, within));
  if (a.kind === "object" && b.kind === "object")
    return assuming(a, b, context, (within) => compareObjects(a, b, within));
  const rule = `the ${context.writer} version allows ${describeNode(a)}, the ${context.reader} one only ${describeNode(b)}`;
  return shownBy(context, rule, [a, b], samples(a));
}

function compareRefs(a: Node, b: Node, context: Context): Findings {
  return assuming(a, b, context, (within) => compare(deref(a), deref(b), within));
}

/**
 * A pair that is met again inside itself is taken to fit: between the two meetings both sides went into a member or
 * an item, so the claim is only used for smaller values.
 */
function assuming(a: Node, b: Node, context: Context, work: (within: Context) => Findings): Findings {
  const pair = `${identityOf(a)}:${identityOf(b)}`;
  if (context.assumed.has(pair)) return FITS;
  if (context.assumed.size >= MAX_OPEN_PAIRS) return unsure(context, "the schemas are too deep to compare");
  return work({ ...context, assumed: new Set([...context.assumed, pair]) });
}

function compareEverything(b: Node, context: Context): Findings {
  const findings = EVERYTHING.members.flatMap((member) => compare(member, b, aside(context)));
  if (findings.length === 0) return FITS;
  const worst = findings.find((finding) => finding.verdict === "breaks");
  const rule = `the ${context.writer} version allows any value, the ${context.reader} one only ${describeNode(b)}`;
  if (worst === undefined) return unsure(context, rule);
  const witnesses = findings.map((finding) => finding.witness).filter((witness) => witness !== undefined);
  return shownBy(context, rule, [ANY, b], witnesses);
}

function compareValues(a: EnumNode, b: Node, context: Context): Findings {
  const answers = a.values.map((value) => accepts(b, value, "read"));
  const having = (answer: boolean | undefined): JsonValue[] =>
    a.values.filter((_, i) => answers[i] === answer);
  const refused = having(false);
  const open = having(undefined);
  return [
    ...(refused.length === 0
      ? FITS
      : shownBy(
          context,
          `the ${context.writer} version allows ${listValues(refused)}, the ${context.reader} one only ${describeNode(b)}`,
          [a, b],
          refused,
        )),
    ...(open.length === 0
      ? FITS
      : unsure(context, `code decides whether the ${context.reader} version takes ${listValues(open)}`)),
  ];
}

function compareOpaque(a: Node, b: Node, context: Context): Findings {
  if (a.kind === "opaque" && b.kind === "opaque" && a.key !== undefined && a.key === b.key) return FITS;
  const said = (node: OpaqueNode, side: string): string =>
    `what the ${side} version takes here cannot be told: ${node.why}`;
  const rules = [
    ...(a.kind === "opaque" ? [said(a, context.writer)] : []),
    ...(b.kind === "opaque" ? [said(b, context.reader)] : []),
  ];
  return unsure(context, [...new Set(rules)].join("; "));
}

/** Opaque parts only make the set smaller: if the rest fits, it fits. */
function compareIntersection(a: IntersectionNode, b: Node, context: Context): Findings {
  const opaque = a.members.filter((member) => member.kind === "opaque");
  if (b.kind === "opaque" && b.key !== undefined && opaque.some(({ key }) => key === b.key)) return FITS;
  const fitting =
    b.kind === "union"
      ? b.members.find((member) => compare(a, member, aside(context)).length === 0)
      : undefined;
  if (fitting !== undefined) return compare(a, fitting, context);
  const [first] = opaque;
  if (first !== undefined && opaque.length === a.members.length) return compareOpaque(first, b, context);
  const whole = wholeOf(a);
  const findings =
    whole.kind === "intersection" ? compareParts(whole, b, context) : compare(whole, b, context);
  if (findings.length === 0 || opaque.length === 0 || disjoint(whole, b)) return findings;
  const reasons = opaque.map(({ why }) => why).join(", ");
  return findings.map((finding) => ({
    ...finding,
    verdict: "unsure",
    rule: `${finding.rule}; whether such a value is written cannot be told: ${reasons}`,
    witness: undefined,
  }));
}

/** Parts that cannot be merged into one node: one that fits is enough. */
function compareParts(a: IntersectionNode, b: Node, context: Context): Findings {
  // What one part leaves out another may keep.
  if (contains(a, isStripping)) return unsure(context, "the parts of an intersection could not be merged");
  const tries = a.members.map((member) => compare(member, b, aside(context)));
  const fitting = tries.findIndex((findings) => findings.length === 0);
  if (fitting >= 0) return FITS;
  const rule = tries.flat()[0]?.rule ?? "the parts could not be compared";
  const witnesses = tries.flat().flatMap(({ witness }) => (witness === undefined ? [] : [witness]));
  return shownBy(context, rule, [a, b], [...witnesses, ...samples(a)]);
}
