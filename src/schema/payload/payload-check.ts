/**
 * A payload against a schema, and the one rule for what is stored of it:
 *
 *   stored = the payload as it was given, less the members that the schema leaves out.
 *
 * Defaults, coercions and transforms are not applied to what is stored: they are ways of reading. So the log holds the
 * same whether the publisher had the Zod schema at hand or only its JSON Schema; a default that is made by code (an id,
 * a time) cannot turn a retry under the same id into another event (P3); and what the compatibility check takes a
 * version to write is what it writes. `value` is what a reader makes of the payload: Zod's output, defaults included.
 * Of what makes its own JSON (`toJSON`) that is stored, so that has to fit as well.
 */
import { BusError } from "../../model/errors.js";
import { DEEPEST, type JsonValue, jsonBody } from "../../model/json.js";
import type { PayloadSchema } from "../../model/topic.js";
import { patiently, TakesTooLong } from "../patterns/time-limit.js";
import { normalize } from "../reading/normalize.js";
import { isZodSchema, type SchemaInput } from "../reading/schema-input.js";
import { changesValue, hasRivals } from "../reading/zod-view.js";
import { accepts } from "../tree/accept.js";
import { ANY, type Node } from "../tree/tree.js";
import { mayMultiply } from "./multiplies.js";
import { type QuickFit, quickFit } from "./quick-fit.js";
import { stripOf } from "./strip.js";
import { issueViolations, type Parse, parserOf, type Violation } from "./validator.js";

/** A payload that fits, as it is stored and as it is read; or what is wrong with it. */
export type CheckedPayload =
  | { readonly fits: true; readonly stored: unknown; readonly value: unknown }
  | { readonly fits: false; readonly violations: readonly Violation[] };

/** Holds a payload against a schema. */
export type PayloadCheck = (payload: unknown) => CheckedPayload;

/** `tree`, `parse`: the schema's, if they are at hand. Everything that can be made once is made here. */
export function payloadCheck(
  schema: SchemaInput,
  tree: Node = normalize(schema),
  parse: Parse = parserOf(schema),
): PayloadCheck {
  // A Zod schema is code of this process, and is run as it is.
  const check = isZodSchema(schema)
    ? checkBy(parse, tree)
    : limited(checkBy(parse, tree, () => mayMultiply(schema)));
  const readsAsGiven = !isZodSchema(schema) || !(changesValue(schema) || hasRivals(schema));
  return readsAsGiven ? quickBefore(check, tree) : check;
}

/** Most payloads fit, and have no members that are left out: then there is nothing to ask the validator. */
function quickBefore(check: PayloadCheck, tree: Node): PayloadCheck {
  // Made with the first payload: of most versions that are known here, none is written.
  let fits: QuickFit | null | undefined;
  return (payload) => {
    if (fits === undefined) fits = quickFit(tree);
    return fits?.(payload) ? { fits: true, stored: payload, value: payload } : check(payload);
  };
}

/** What others send in must not stop this process: a payload that takes too long does not fit. */
function limited(check: PayloadCheck): PayloadCheck {
  return (payload) => {
    try {
      return check(payload);
    } catch (error) {
      if (!(error instanceof TakesTooLong)) throw error;
      return { fits: false, violations: [{ path: "payload", message: error.message }] };
    }
  };
}

/** `ANY` for a tree that is not known. `isLong`: whether to go through it may take long. */
function checkBy(parse: Parse, tree: Node, isLong = (): boolean => false): PayloadCheck {
  const strip = stripOf(tree);
  return (payload) => {
    const parsed = parse(payload);
    if (!parsed.fits) return parsed;
    const form = makesItsForm(payload) ? (jsonBody(payload).value as JsonValue) : (payload as JsonValue);
    if (form !== payload && patiently(() => accepts(tree, form, "read"), isLong()) === false)
      return { fits: false, violations: [OTHER_FORM] };
    const stored = strip === null ? form : patiently(() => strip(form), isLong());
    // A JSON Schema changes nothing: its readers see what is stored.
    return { fits: true, stored, value: "value" in parsed ? parsed.value : stored };
  };
}

const OTHER_FORM: Violation = { path: "payload", message: "what its toJSON makes of it does not fit" };

/** Whether a toJSON somewhere in it decides what is stored. What is too deep, or contains itself, is refused elsewhere. */
function makesItsForm(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null || depth > DEEPEST) return false;
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return true;
  return Object.values(value).some((member) => makesItsForm(member, depth + 1));
}

const checks = new WeakMap<object, PayloadCheck>();

/** For the schema of a topic's definition. Of one that is not Zod 4's it is not known what it leaves out: nothing. */
export function definitionCheck(schema: PayloadSchema<unknown>): PayloadCheck {
  let check = checks.get(schema);
  if (check === undefined) {
    check = isZodSchema(schema)
      ? payloadCheck(schema)
      : checkBy((payload) => parseWith(schema, payload), ANY);
    checks.set(schema, check);
  }
  return check;
}

function parseWith(schema: PayloadSchema<unknown>, payload: unknown): ReturnType<Parse> {
  const result = schema.safeParse(payload);
  if (result.success) return { fits: true, value: result.data };
  return { fits: false, violations: issueViolations(payload, result.error.issues) };
}

/** The one error for a payload that does not fit; `against` names the schema in words. */
export function violated(
  against: string,
  violations: readonly Violation[],
  details: Readonly<Record<string, unknown>>,
): BusError {
  const [first] = violations;
  const where = first === undefined ? "invalid" : `${first.path}: ${first.message}`;
  const shown = first?.value === undefined ? "" : ` (it is ${first.value})`;
  const more = violations.length > 1 ? `, and ${violations.length - 1} more` : "";
  return new BusError("SCHEMA_VIOLATION", `the payload does not fit ${against}: ${where}${shown}${more}`, {
    details: { ...details, issues: violations },
  });
}
