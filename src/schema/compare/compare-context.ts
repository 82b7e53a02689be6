/** What a comparison carries along, and what it finds. */
import type { JsonValue } from "../../model/json.js";
import { isWorkUsedUp } from "../patterns/language.js";
import { accepts } from "../tree/accept.js";
import { isBudgetUsedUp } from "../tree/comparison-budget.js";
import type { Node, Openness } from "../tree/tree.js";

/** Any item after the named ones, any member that is not declared. */
export const ANY_ITEM = Symbol("[]");
export const ANY_MEMBER = Symbol(".*");

/** A step into a value: a member's name, an item's place, or one of those above. */
export type Step = string | number | typeof ANY_ITEM | typeof ANY_MEMBER;

/** A place in words: `payload.user.tags[]`. */
export function pathText(path: readonly Step[]): string {
  const steps = path.map((step) => {
    if (typeof step === "symbol") return step.description;
    if (typeof step === "number") return `[${step}]`;
    return /^[A-Za-z_$][\w$]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  });
  return `payload${steps.join("")}`;
}

/** A reason why not every value that the writer writes is one that the reader takes. */
export interface Finding {
  /** `breaks`: there is such a value. `unsure`: there may be. */
  readonly verdict: "breaks" | "unsure";
  readonly path: readonly Step[];
  readonly rule: string;
  /** A value at the place where the comparison stands: written by the one, not taken by the other. */
  readonly witness?: JsonValue | undefined;
  /** It says only that no more was looked at. */
  readonly isEnd?: true;
}

/** An object as both sides treat members that they do not declare. */
export interface ObjectNote {
  readonly path: readonly Step[];
  readonly written: Openness;
  readonly read: Openness;
}

/** No findings: everything that the one writes is taken by the other. */
export type Findings = readonly Finding[];
export const FITS: Findings = [];

/** Findings that are told of a comparison, each with a whole payload. One more stands for all others: see `toldOf`. */
const MAX_FINDINGS = 100;
/** As many as show that there are more than are told. */
const MAX_KEPT = MAX_FINDINGS + 1;

/**
 * What is found of many parts: of those beyond what is told no more is kept than that there are some. Looking ends where so much
 * breaks. What is merely open does not hide what breaks.
 */
export function findInEach<T>(parts: Iterable<T>, find: (part: T) => Findings): Findings {
  let found: Finding[] = [];
  let breaks = 0;
  for (const part of parts) {
    for (const finding of find(part)) {
      found.push(finding);
      if (finding.verdict === "breaks") breaks++;
    }
    if (breaks >= MAX_KEPT) break;
    if (found.length > 2 * MAX_KEPT) found = firstOf(found, MAX_KEPT);
  }
  return found.length > MAX_KEPT ? firstOf(found, MAX_KEPT) : found;
}

/** Those that break, and as many others as there is room for, as they stood. */
function firstOf(findings: Findings, count: number): Finding[] {
  let room = Math.max(0, count - findings.filter(({ verdict }) => verdict === "breaks").length);
  return findings.filter(({ verdict }) => verdict === "breaks" || room-- > 0).slice(0, count);
}

const TOO_LARGE = "the schemas are too large to compare";
const MORE = "there are more places where they differ, or may differ: no more are told";

/** The findings of a whole comparison as they are told: what cuts the list short comes last. `isCut`: not all was looked at. */
export function toldOf(findings: Findings, isCut: boolean): Findings {
  const known = findings.filter(({ isEnd }) => !isEnd);
  const told = firstOf(known, MAX_FINDINGS);
  const left = known.filter((finding) => !told.includes(finding));
  const verdict = left.some((finding) => finding.verdict === "breaks") ? "breaks" : "unsure";
  if (left.length > 0) told.push({ verdict, path: [], rule: MORE });
  // Of all the places that were not looked at one is told.
  const end = findings.find(({ isEnd }) => isEnd);
  if (end !== undefined) told.push(end);
  else if (isCut && told.length > 0) told.push({ verdict: "unsure", path: [], rule: TOO_LARGE });
  return told;
}

export interface Context {
  /** The names of the two sides, for people: "older", "newer". */
  readonly writer: string;
  readonly reader: string;
  readonly path: readonly Step[];
  /** Pairs of nodes that are taken to fit while that is being shown: the proof is by induction on values. */
  readonly assumed: ReadonlySet<string>;
  readonly shared: Shared;
  compare(a: Node, b: Node, context: Context): Findings;
}

/** What all branches of one comparison share. */
export interface Shared {
  readonly steps: { left: number };
  readonly objects: Map<string, ObjectNote>;
}

export function at(context: Context, step: Step): Context {
  return { ...context, path: [...context.path, step] };
}

/** Whether nothing more can be found out. */
export function isUsedUp({ shared }: Context): boolean {
  return shared.steps.left <= 0 || isWorkUsedUp() || isBudgetUsedUp();
}

/** For a try that may be given up: its notes are not kept. */
export function aside(context: Context): Context {
  return { ...context, shared: { ...context.shared, objects: new Map() } };
}

export function unsure(context: Context, rule: string): Findings {
  return [{ verdict: "unsure", path: context.path, rule }];
}

/** No more can be found out. */
export function tooLarge({ path }: Context): Findings {
  return [{ verdict: "unsure", path, rule: TOO_LARGE, isEnd: true }];
}

/** Breaks if one of the values shows it; else it is open whether it does. */
export function shownBy(
  context: Context,
  rule: string,
  pair: readonly [Node, Node],
  values: Iterable<JsonValue>,
): Findings {
  const witness = firstWitness(pair, values);
  if (witness === undefined) return unsure(context, rule);
  return [{ verdict: "breaks", path: context.path, rule, witness }];
}

/** A value that the first surely writes and the second surely refuses. */
export function firstWitness(
  [a, b]: readonly [Node, Node],
  values: Iterable<JsonValue>,
): JsonValue | undefined {
  for (const value of values) {
    if (accepts(a, value, "write") === true && accepts(b, value, "read") === false) return value;
  }
  return undefined;
}

/**
 * Findings of a part as findings of the whole: `embed` puts a witness of the part into a value of the whole. A whole
 * that the writer would not write, or that the reader takes after all, proves nothing: open again.
 */
export function lift(
  findings: Findings,
  [a, b]: readonly [Node, Node],
  embed: (witness: JsonValue) => JsonValue | undefined,
): Findings {
  return findings.map((finding) => {
    if (finding.witness === undefined) return finding;
    const whole = embed(finding.witness);
    if (whole === undefined) return { ...finding, witness: undefined };
    const proves = accepts(a, whole, "write") !== false && accepts(b, whole, "read") === false;
    return proves ? { ...finding, witness: whole } : { ...finding, verdict: "unsure", witness: undefined };
  });
}
