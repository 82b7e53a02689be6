/** Zod's string checks as JSON Schema: what a pattern or a named format says exactly, and what only code can say. */
import { z } from "zod";
import { unitsPattern } from "../patterns/pattern-reading.js";
import { isKnownFormat } from "../tree/format.js";
import { localKey, type MutableSchema, mark } from "./opaque-mark.js";
import { checksOf, isOverwrite, type ZodCheck, type ZodCheckDef, type ZodSchema } from "./zod-view.js";

/** Zod's name → JSON Schema's. */
const FORMAT_NAMES: Readonly<Record<string, string>> = { guid: "uuid", url: "uri", datetime: "date-time" };
/** Formats that Zod checks by code; the format's name stands for that code. */
const BY_NAME: ReadonlySet<string> = new Set(["url", "ipv6", "cidrv6", "base64", "base64url", "jwt"]);
/** Data decides, but no keyword can say it. */
const BY_CHECKSUM: ReadonlySet<string> = new Set(["credit_card", "iban"]);

type Said =
  | { readonly pattern: string; readonly format?: string }
  | { readonly format: string }
  | { readonly why: string; readonly key: string };

export function correctString(schema: ZodSchema, json: MutableSchema): void {
  for (const keyword of ["minLength", "maxLength", "pattern", "format", "allOf", "contentEncoding"])
    delete json[keyword];
  const checks = checksOf(schema);
  const patterns: string[] = [];
  let changed = false;
  for (const [i, check] of checks.entries()) {
    const { def } = check._zod;
    if (changed && def.check !== "overwrite") {
      mark(json, "a check follows a change of the text", checksKey(checks.slice(0, i + 1)));
    } else if (def.check === "string_format") {
      const said = sayFormat(check);
      if ("why" in said) mark(json, said.why, said.key);
      if ("pattern" in said) patterns.push(said.pattern);
      if ("format" in said && said.format !== undefined) json.format ??= said.format;
    } else if (def.check !== "overwrite") {
      sayLength(check, json);
    }
    changed ||= isOverwrite(check);
  }
  if (patterns.length === 1) json.pattern = patterns[0];
  if (patterns.length > 1) json.allOf = patterns.map((pattern) => ({ pattern }));
}

/** Checks of Zod's own, the same in every process, are named by what they say; others by themselves. */
function checksKey(checks: readonly ZodCheck[]): string {
  const said = checks.map(sayOwn);
  return said.includes(undefined) ? localKey(...checks) : `text ${JSON.stringify(said)}`;
}

/** How Zod writes its changes of a text that depend on nothing else. */
const CHANGES: ReadonlySet<string> = new Set(
  [z.string().trim(), z.string().toLowerCase(), z.string().toUpperCase()]
    .flatMap((schema) => checksOf(schema))
    .map((check) => String(check._zod.def.tx)),
);

/** undefined: code of the schema's author takes part. */
function sayOwn({ _zod: { def } }: ZodCheck): unknown {
  const { check, format, pattern, minimum, maximum, length } = def;
  if (check === "overwrite") return CHANGES.has(String(def.tx)) ? [check, String(def.tx)] : undefined;
  if (LENGTHS.has(check)) return [check, minimum ?? maximum ?? length];
  if (check !== "string_format" || def.fn !== undefined || pattern === undefined) return undefined;
  return [check, format, String(pattern), def.includes, def.position];
}

const LENGTHS: ReadonlySet<string> = new Set(["min_length", "max_length", "length_equals"]);

function sayLength(check: ZodCheck, json: MutableSchema): void {
  const { def } = check._zod;
  const atLeast = (length: unknown): void => {
    json.minLength = Math.max(Number(json.minLength ?? 0), Number(length));
  };
  const atMost = (length: unknown): void => {
    json.maxLength = Math.min(Number(json.maxLength ?? Infinity), Number(length));
  };
  if (def.check === "min_length") atLeast(def.minimum);
  else if (def.check === "max_length") atMost(def.maximum);
  else if (def.check === "length_equals") {
    atLeast(def.length);
    atMost(def.length);
  } else mark(json, "a refinement", localKey(check));
  // A bound that is no count, such as Infinity, would be lost in JSON.
  if (!Number.isSafeInteger(json.maxLength ?? 0)) delete json.maxLength;
  if (!Number.isSafeInteger(json.minLength ?? 0)) {
    delete json.minLength;
    mark(json, "an endless minimum length", localKey(check));
  }
}

function sayFormat(check: ZodCheck): Said {
  const { def } = check._zod;
  const { format = "", pattern } = def;
  if (typeof def.fn === "function")
    return { why: `the format ${format} is decided by code`, key: localKey(check) };
  if (format === "url" && ("hostname" in def || "protocol" in def)) {
    return { why: "a URL of certain hosts or protocols", key: urlKey(def) };
  }
  if (format === "jwt" && def.alg)
    return { why: `a JWT signed with ${String(def.alg)}`, key: `jwt ${String(def.alg)}` };
  if (BY_NAME.has(format)) return { format: FORMAT_NAMES[format] ?? format };
  if (BY_CHECKSUM.has(format)) return { why: `the checksum of a ${format}`, key: `zod ${format}` };
  if (format === "includes" && def.position !== undefined) {
    return {
      why: "a text within the text, from a position on",
      key: `includes ${JSON.stringify([def.includes, def.position])}`,
    };
  }
  if (pattern === undefined) return { why: `the format ${format}`, key: localKey(check) };
  if (!hasPattern(pattern))
    return { why: `an expression with the flags ${pattern.flags}`, key: `pattern ${pattern}` };
  const named = formatOf(def);
  const source = pattern.flags.includes("u") ? pattern.source : unitsPattern(pattern.source);
  return named === undefined ? { pattern: source } : { pattern: source, format: named };
}

function urlKey(def: ZodCheckDef): string {
  return `url ${[def.hostname, def.protocol].map(String).join(" ")} ${Boolean(def.normalize)}`;
}

/** Whether a pattern can say what the expression does. */
function hasPattern(pattern: RegExp): boolean {
  if (/[^dgu]/.test(pattern.flags)) return false;
  return pattern.flags.includes("u") || !/\\[pPu]\{/.test(pattern.source);
}

/** The format's name, where our test of that name lets pass all that the pattern does. */
function formatOf(def: ZodCheckDef): string | undefined {
  const { format = "", pattern } = def;
  const name = FORMAT_NAMES[format] ?? format;
  if (!isKnownFormat(name)) return undefined;
  if (format === "email" && pattern !== z.regexes.email) return undefined;
  if (format === "datetime" && (def.local === true || def.precision === -1)) return undefined;
  return name;
}
