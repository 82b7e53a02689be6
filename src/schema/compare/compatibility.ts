/**
 * Compatibility of two versions of a schema.
 *
 * - backward: the newer version takes every value that the older one writes (old events, new readers);
 * - forward: the older version takes every value that the newer one writes (new events, old readers);
 * - full: both.
 *
 * "compatible" is proven. "incompatible" comes with the place, the rule and, where one could be made, a value that one
 * version writes and the other refuses. "unknown" means that code, or a keyword that is not understood, decides, or that it is
 * too much work to find out. Both the work and what is told of it have limits: a hub must not be halted by those who send it schemas.
 *
 * What a version writes: an object that strips undeclared members (Zod's plain `z.object`) never writes them, so that
 * adding an optional member to it is compatible. An object that lets them pass (JSON Schema without
 * `additionalProperties`, `z.looseObject`) may have written anything under the new name, and adding it is not.
 */
import { BusError } from "../../model/errors.js";
import type { JsonValue } from "../../model/json.js";
import { withBoundedWork } from "../patterns/language.js";
import { normalize } from "../reading/normalize.js";
import type { SchemaInput } from "../reading/schema-input.js";
import { accepts } from "../tree/accept.js";
import { withBudget } from "../tree/comparison-budget.js";
import type { Node, Openness } from "../tree/tree.js";
import { compareTrees } from "./compare.js";
import { type Finding, type ObjectNote, pathText } from "./compare-context.js";

/** What one version promises the other: see `checkCompat`. */
export type CompatMode = "none" | "backward" | "forward" | "full";
/** Proven compatible, proven not to be, or undecided. */
export type CompatVerdict = "compatible" | "incompatible" | "unknown";

/** A place at which two versions do not, or may not, agree. */
export interface CompatFinding {
  readonly verdict: "incompatible" | "unknown";
  /** Where: `payload`, `payload.user.tags[]`, `payload.*` for members that are not declared. */
  readonly path: string;
  /** What is wrong, in words. */
  readonly rule: string;
  /** The version that refuses, or may refuse, what the other one writes. */
  readonly side: "older" | "newer";
  /** A whole payload that the other version writes and `side` refuses; checked against both. */
  readonly counterExample?: JsonValue;
}

/** How both versions treat members that an object does not declare. */
export interface ObjectReport {
  readonly path: string;
  readonly older: Openness;
  readonly newer: Openness;
}

/** What checkCompat says of two versions. */
export interface CompatReport {
  readonly mode: CompatMode;
  readonly verdict: CompatVerdict;
  readonly findings: readonly CompatFinding[];
  readonly objects: readonly ObjectReport[];
}

/**
 * Compares two versions of a schema, each a Zod 4 schema or a JSON Schema.
 *
 * @example
 * const report = checkCompat(z.object({ pid: z.number() }), z.object({ pid: z.number(), host: z.string() }), "backward");
 * report.verdict;                      // "incompatible"
 * report.findings[0]?.rule;            // 'the newer version requires "host", the older one may leave it out'
 * report.findings[0]?.counterExample;  // { pid: 0 }
 */
export function checkCompat(older: SchemaInput, newer: SchemaInput, mode: CompatMode): CompatReport {
  return checkTrees(normalize(older), normalize(newer), mode);
}

export function checkTrees(older: Node, newer: Node, mode: CompatMode): CompatReport {
  const backward = mode === "backward" || mode === "full";
  const forward = mode === "forward" || mode === "full";
  if (!backward && !forward && mode !== "none") {
    throw new BusError("INVALID_OPTION", `${JSON.stringify(mode)} is not none, backward, forward or full`);
  }
  const parts = withBoundedWork(() => [
    ...(backward ? [direction(older, newer, "newer")] : []),
    ...(forward ? [direction(newer, older, "older")] : []),
  ]);
  const findings = parts.flatMap((part) => part.findings);
  return { mode, verdict: worst(findings), findings, objects: parts[0]?.objects ?? [] };
}

function worst(findings: readonly CompatFinding[]): CompatVerdict {
  if (findings.some(({ verdict }) => verdict === "incompatible")) return "incompatible";
  return findings.length > 0 ? "unknown" : "compatible";
}

/** One direction: what `written` writes against `read`, which is the version called `reader`. */
function direction(
  written: Node,
  read: Node,
  reader: "older" | "newer",
): { findings: readonly CompatFinding[]; objects: readonly ObjectReport[] } {
  const writer = reader === "newer" ? "older" : "newer";
  const { findings, objects } = withBudget(() => compareTrees(written, read, { writer, reader }));
  const report = (finding: Finding): CompatFinding => {
    const { witness } = finding;
    const shown =
      witness !== undefined &&
      accepts(written, witness, "write") === true &&
      accepts(read, witness, "read") === false;
    return {
      verdict: finding.verdict === "breaks" ? "incompatible" : "unknown",
      path: pathText(finding.path),
      rule: finding.rule,
      side: reader,
      ...(shown && { counterExample: witness }),
    };
  };
  const note = ({ path, written: w, read: r }: ObjectNote): ObjectReport =>
    reader === "newer"
      ? { path: pathText(path), older: w, newer: r }
      : { path: pathText(path), older: r, newer: w };
  return { findings: withBudget(() => findings.map(report)), objects: objects.map(note) };
}
