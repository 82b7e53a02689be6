/** Payloads against a schema: by Zod where the Zod schema is at hand, by Ajv where only its JSON Schema is. */
import { createRequire } from "node:module";
import type { ErrorObject, ValidateFunction } from "ajv";
import { z } from "zod";
import { BusError, describeThrown } from "../../model/errors.js";
import type { SchemaIssue } from "../../model/topic.js";
import { patternOf } from "../patterns/pattern.js";
import { patiently, withinLimit } from "../patterns/time-limit.js";
import { isOlderDraft, isZodSchema, type JsonSchema, type SchemaInput } from "../reading/schema-input.js";
import { shorten } from "../tree/describe-node.js";
import { formatTests } from "../tree/format.js";
import { mayMultiply } from "./multiplies.js";
import { OWN_KEYWORDS } from "./own-keywords.js";

/** A place where a payload does not fit. */
export interface Violation {
  /** `payload.user.tags[0]`. */
  readonly path: string;
  readonly message: string;
  /** What is there, as JSON text, shortened; absent if nothing is. */
  readonly value?: string;
}

/** It fits, and this is what a reader makes of it, if that may differ; or it does not. */
type Parsed =
  | { readonly fits: true; readonly value?: unknown }
  | { readonly fits: false; readonly violations: readonly Violation[] };

export type Parse = (payload: unknown) => Parsed;

/** More than these are not told one by one. */
const MAX_VIOLATIONS = 20;
/** Whoever sends a megabyte of what does not fit is told the first place. */
const LISTING_CPU_MS = 50;

export function parserOf(schema: SchemaInput): Parse {
  return isZodSchema(schema) ? zodParser(schema) : jsonParser(schema);
}

function zodParser(schema: z.core.$ZodType): Parse {
  return (payload) => {
    const result = safeParse(schema, payload);
    if (result.success) return { fits: true, value: result.data };
    return { fits: false, violations: issueViolations(payload, result.error.issues) };
  };
}

/** What a validator of Zod's kind found wrong. */
export function issueViolations(payload: unknown, issues: readonly SchemaIssue[]): Violation[] {
  return issues
    .slice(0, MAX_VIOLATIONS)
    .map(({ path, message }) => violation(payload, path.map(stepOf), message));
}

function safeParse(schema: z.core.$ZodType, payload: unknown): z.core.util.SafeParseResult<unknown> {
  try {
    return z.safeParse(schema, payload);
  } catch (error) {
    throw failed(error);
  }
}

function failed(cause: unknown): BusError {
  if (cause instanceof z.core.$ZodAsyncError) {
    return new BusError(
      "INVALID_OPTION",
      "the schema has asynchronous parts; a topic's schema decides at once",
      { cause },
    );
  }
  const message = `the schema failed while it looked at the payload: ${describeThrown(cause)}`;
  return new BusError("SCHEMA_VIOLATION", message, { cause });
}

function stepOf(step: PropertyKey): string | number {
  return typeof step === "symbol" ? String(step) : step;
}

/** Ajv is loaded when the first schema needs it. Nothing is compiled within a limit: a module that is stopped while it is loaded never works again. */
function jsonParser(schema: JsonSchema, quick?: ValidateFunction): Parse {
  let thorough: ValidateFunction | undefined;
  return (payload) => {
    quick ??= compile(schema);
    const validate = quick;
    try {
      if (patiently(() => validate(payload), mayMultiply(schema))) return { fits: true };
    } catch (error) {
      return { fits: false, violations: [violation(payload, [], whyUnchecked(error))] };
    }
    const errors = validate.errors ?? [];
    thorough ??= compile(schema, { allErrors: true });
    return { fits: false, violations: errorViolations(payload, allErrors(thorough, payload) ?? errors) };
  };
}

/** undefined: there is too much that is wrong. */
function allErrors(thorough: ValidateFunction, payload: unknown): ErrorObject[] | undefined {
  try {
    withinLimit(() => thorough(payload), LISTING_CPU_MS);
    return thorough.errors ?? undefined;
  } catch {
    return undefined;
  } finally {
    thorough.errors = null;
  }
}

/** What Ajv cannot get through: a payload that stops it does not fit. Any other error is thrown on. */
function whyUnchecked(error: unknown): string {
  if (error instanceof TypeError) return "cannot be compared: it has no JSON form";
  if (error instanceof RangeError) return "cannot be checked: its schema refers to itself without end";
  throw error;
}

function errorViolations(payload: unknown, errors: readonly ErrorObject[]): Violation[] {
  return errors.slice(0, MAX_VIOLATIONS).map(({ instancePath, message, params }) => {
    const missing: unknown = params.missingProperty;
    const path = pointerSteps(instancePath);
    return violation(
      payload,
      typeof missing === "string" ? [...path, missing] : path,
      message ?? "does not fit",
    );
  });
}

let loader: NodeJS.Require | undefined;

/** Made when it is needed: a bundle of CommonJS has no such address, and most have no use for it. */
function load(name: string): unknown {
  loader ??= createRequire(import.meta.url);
  return loader(name);
}

/** By default it stops at the first place that is wrong. */
function compile(schema: JsonSchema, { allErrors = false } = {}): ValidateFunction {
  const { Ajv } = load("ajv") as typeof import("ajv");
  const { Ajv2020 } = load("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  const options = {
    strict: false,
    allErrors,
    logger: false,
    validateSchema: false,
    ownProperties: true,
    formats: formatTests(),
    code: {
      regExp: Object.assign(expressionOf, { code: "" }),
    },
  } as const;
  // One instance for each schema: two versions of a topic may carry the same $id.
  const ajv = isOlderDraft(schema) ? new Ajv(options) : new Ajv2020(options);
  for (const own of OWN_KEYWORDS) ajv.removeKeyword(own.keyword).addKeyword(own);
  try {
    if (isAsynchronous(schema)) throw new Error("it is asynchronous, and a topic's schema decides at once");
    return ajv.compile(schema);
  } catch (error) {
    throw notCompiled(error);
  }
}

/** An expression as Ajv asks it, which tells one from another by its text. */
function expressionOf(source: string): { test(text: string): boolean; toString(): string } {
  const pattern = patternOf(source);
  if (pattern === undefined) return new RegExp(source, "u");
  return { test: (text) => pattern.ask(text), toString: () => source };
}

function notCompiled(cause: unknown): BusError {
  return new BusError("INVALID_OPTION", `the JSON Schema cannot be used: ${describeThrown(cause)}`, {
    cause,
  });
}

/** A word of Ajv's own: its answer would be a promise, which is always true. */
function isAsynchronous(schema: JsonSchema): boolean {
  return typeof schema === "object" && schema.$async === true;
}

/** As `parserOf`, made ready at once: throws INVALID_OPTION for a JSON Schema that no payload could be held against. */
export function readyParserOf(schema: SchemaInput): Parse {
  return isZodSchema(schema) ? zodParser(schema) : jsonParser(schema, compile(schema));
}

function pointerSteps(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function violation(payload: unknown, path: readonly (string | number)[], message: string): Violation {
  let found: unknown = payload;
  let text = "payload";
  for (const step of path) {
    const index = Array.isArray(found) && Number.isInteger(Number(step));
    text += index
      ? `[${step}]`
      : /^[A-Za-z_$][\w$]*$/.test(String(step))
        ? `.${step}`
        : `[${JSON.stringify(step)}]`;
    const inside = typeof found === "object" && found !== null && Object.hasOwn(found, step);
    found = inside ? (found as Record<string | number, unknown>)[step] : undefined;
  }
  return { path: text, message, ...(found !== undefined && { value: printed(found) }) };
}

/** Short, whatever it is: a payload may hold what JSON cannot. */
function printed(value: unknown): string {
  try {
    return shorten(value);
  } catch {
    return `a ${typeof value}`;
  }
}
