/** What a comparison carries along, and what it finds. */
import type { JsonValue } from "../../model/json.js";
import { accepts } from "../tree/accept.js";
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

/** For a try that may be given up: its notes are not kept. */
export function aside(context: Context): Context {
  return { ...context, shared: { ...context.shared, objects: new Map() } };
}

export function unsure(context: Context, rule: string): Findings {
  return [{ verdict: "unsure", path: context.path, rule }];
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
