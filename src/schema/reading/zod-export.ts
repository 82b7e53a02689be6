/**
 * Zod schemas as JSON Schema, of what they accept (Zod's input side), exact or marked. Zod's own export is the base;
 * where it says more or less than the parser does (coercion, catch, flags of expressions, chained trims …) the keywords
 * are corrected, or dropped and the place marked opaque. Never does an unmarked place reject what Zod accepts, nor
 * accept what Zod rejects.
 */
import { z } from "zod";
import { BusError, describeThrown } from "../../model/errors.js";
import { canonicalText } from "../../model/json.js";
import { unitsPattern } from "../patterns/pattern-reading.js";
import { clear, forget, localKey, type MutableSchema, mark } from "./opaque-mark.js";
import { type JsonSchemaObject, UNDECLARED, UNSURE } from "./schema-input.js";
import { correctString } from "./zod-strings.js";
import {
  changesValue,
  checksOf,
  closesKeys,
  defOf,
  isConditional,
  mayThrow,
  onlyNames,
  type ZodCheck,
  type ZodSchema,
} from "./zod-view.js";

/** Only notes for people may come from `.meta()`: a keyword there would say what Zod does not check. */
const NOTES = ["title", "description", "examples", "deprecated"] as const;

/** Checks that the export expresses, by kind of schema. */
const EXPRESSED: Readonly<Record<string, ReadonlySet<string>>> = {
  string: new Set(["min_length", "max_length", "length_equals", "string_format"]),
  number: new Set(["greater_than", "less_than", "multiple_of", "number_format"]),
  array: new Set(["min_length", "max_length", "length_equals"]),
};

/** Kinds whose values have no JSON form, or that code alone decides. */
const NOT_JSON: Readonly<Record<string, string>> = {
  bigint: "a BigInt has no JSON form",
  symbol: "a symbol has no JSON form",
  undefined: "undefined has no JSON form",
  void: "void has no JSON form",
  nan: "NaN has no JSON form",
  date: "a Date has no JSON form; use z.iso.datetime()",
  map: "a Map has no JSON form; use z.record()",
  set: "a Set has no JSON form; use z.array()",
  file: "a File has no JSON form",
  function: "a function has no JSON form",
  promise: "a promise has no JSON form",
  custom: "custom code decides",
  transform: "a transform decides",
  success: "it accepts anything and tells whether it fits",
};

export function exportZod(schema: z.core.$ZodType): JsonSchemaObject {
  try {
    return z.toJSONSchema(schema, {
      io: "input",
      unrepresentable: "any",
      metadata: notes(),
      override: ({ zodSchema, jsonSchema }) => correct(zodSchema, jsonSchema as MutableSchema),
    }) as JsonSchemaObject;
  } catch (error) {
    throw notExportable(error);
  }
}

function notExportable(cause: unknown): BusError {
  const why = cause instanceof RangeError ? "it is nested too deeply" : describeThrown(cause);
  return new BusError("INVALID_OPTION", `the Zod schema has no JSON Schema: ${why}`, { cause });
}

/** A registry that answers with what the global one says, less what would act as a keyword or an id. */
function notes(): z.core.$ZodRegistry<Record<string, unknown>> {
  const registry = z.registry<Record<string, unknown>>();
  registry.get = (schema: z.core.$ZodType) => {
    const all: Readonly<Record<string, unknown>> | undefined = z.globalRegistry.get(schema);
    const kept = NOTES.filter((name) => all?.[name] !== undefined).map((name) => [name, all?.[name]]);
    return kept.length === 0 ? undefined : Object.fromEntries(kept);
  };
  return registry;
}

/** Kinds whose export is exact, their checks and the corrections below aside. */
const EXACT: ReadonlySet<string> = new Set([
  ...[
    "any",
    "unknown",
    "never",
    "null",
    "boolean",
    "string",
    "number",
    "enum",
    "literal",
    "template_literal",
  ],
  ...["array", "tuple", "object", "record", "union", "intersection", "pipe", "catch"],
  ...["optional", "nullable", "nonoptional", "default", "prefault", "readonly", "lazy"],
]);

/** Why nothing can be said of a set, and what decides instead. */
interface Unknown {
  readonly why: string;
  readonly key: string;
}

type Correction = (schema: ZodSchema, json: MutableSchema) => Unknown | undefined;

function correct(schema: ZodSchema, json: MutableSchema): void {
  const unknown = unknownSet(schema, json) ?? CORRECTIONS[defOf(schema).type]?.(schema, json);
  if (unknown !== undefined) forget(json, unknown.why, unknown.key);
  else if (defOf(schema).type !== "string") correctChecks(schema, json);
}

const unknownSet: Correction = (schema, json) => {
  const def = defOf(schema);
  const key = localKey(def);
  if (def.coerce === true)
    return { why: `it converts what it gets to a ${def.type}`, key: coercionKey(schema, json) };
  if (
    checksOf(schema).some((check) => EXPRESSED[def.type]?.has(check._zod.def.check) && isConditional(check))
  )
    return { why: "a check under a condition", key };
  if (!EXACT.has(def.type)) return { why: NOT_JSON[def.type] ?? `a Zod ${def.type}`, key };
  return schema._zod.toJSONSchema === undefined ? undefined : { why: "it brings its own JSON Schema", key };
};

/** Conversions without further checks are Zod's own, the same in every process. */
function coercionKey(schema: ZodSchema, json: MutableSchema): string {
  const def = defOf(schema);
  return checksOf(schema).length === 0 && def.type !== "date"
    ? `coerce ${canonicalText(json)}`
    : localKey(def);
}

/** Code that only refuses leaves the rest as an upper bound; code that changes the value spoils the checks after it. */
function correctChecks(schema: ZodSchema, json: MutableSchema): void {
  const { type } = defOf(schema);
  let changed = false;
  const checks = checksOf(schema);
  for (const [i, check] of checks.entries()) {
    const kind = check._zod.def.check;
    if (kind === "overwrite") changed = true;
    else if (changed || !EXPRESSED[type]?.has(kind) || isEndless(check)) {
      mark(
        json,
        changed ? "a check follows a change of the value" : "a refinement",
        localKey(...checks.slice(0, i + 1)),
      );
    }
  }
  if (!changed) return;
  // Bounds that were put after the change hold for the changed value only.
  for (const keyword of [
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "allOf",
  ]) {
    if (EXPRESSED[type] !== undefined) delete json[keyword];
  }
}

/** A bound that JSON cannot carry, or a divisor that nothing is a multiple of. */
function isEndless({ _zod: { def } }: ZodCheck): boolean {
  if (def.value === undefined) return false;
  return !Number.isFinite(def.value) || (def.check === "multiple_of" && def.value === 0);
}

const correctObject: Correction = (schema, json) => {
  const { shape = {}, catchall } = defOf(schema);
  if (Object.hasOwn(shape, "__proto__") || Object.getOwnPropertySymbols(shape).length > 0) {
    return {
      why: "a property named __proto__, or by a symbol, is never checked",
      key: localKey(defOf(schema)),
    };
  }
  const names = Object.keys(shape);
  const presence = new Map(names.map((name) => [name, presenceOf(name, shape[name] as ZodSchema)]));
  for (const [keyword, wanted] of [
    ["required", "required"],
    [UNSURE, "unsure"],
  ] as const) {
    const listed = names.filter((name) => presence.get(name) === wanted);
    if (listed.length > 0) json[keyword] = listed;
    else delete json[keyword];
  }
  if (catchall === undefined) json[UNDECLARED] = "strip";
  return undefined;
};

/** Whether a member may be absent, as the parser decides it. */
function presenceOf(name: string, schema: ZodSchema): "required" | "optional" | "unsure" {
  const { optin, optout } = schema._zod;
  // Where nothing of the name is there, the parser looks at what every object has.
  if (name in Object.prototype) return presenceWith(takes(schema, Reflect.get(Object.prototype, name)));
  if (optin === undefined) return "required";
  if (optout === "optional") return "optional";
  // Something is put in its place, which must then be accepted.
  return presenceWith(takesNothing(schema));
}

/** `taken`: whether what the parser finds in its place is accepted. */
function presenceWith(taken: boolean | undefined): "required" | "optional" | "unsure" {
  if (taken === undefined) return "unsure";
  return taken ? "optional" : "required";
}

/** Whether it accepts undefined, which is what the parser hands it for something missing. */
function takesNothing(schema: ZodSchema): boolean | undefined {
  return takes(schema, undefined);
}

function takes(schema: ZodSchema, value: unknown): boolean | undefined {
  try {
    return z.safeParse(schema as z.core.$ZodType, value).success;
  } catch {
    return undefined;
  }
}

const correctRecord: Correction = (schema, json) => {
  const def = defOf(schema);
  const { keyType, valueType, mode } = def;
  const key = localKey(def);
  if (keyType === undefined || valueType === undefined) return { why: "a record without a key schema", key };
  if (!onlyNames(keyType)) return { why: "names of members that are not plain texts", key };
  if (mode === "loose") return isOnePattern(keyType) ? undefined : { why: "a loose record", key };
  if (keyType._zod.values === undefined) return undefined;
  if (def.partial === true) return undefined;
  const taken = takesNothing(valueType);
  if (taken === undefined) return { why: "code decides which members may be absent", key };
  if (taken) delete json.required;
  else json.required = [...keyType._zod.values];
  return undefined;
};

function isOnePattern(keyType: ZodSchema): boolean {
  const json: MutableSchema = {};
  if (defOf(keyType).type === "string") correctString(keyType, json);
  return Object.keys(json).join() === "pattern";
}

/** Trailing items may be missing if they are optional, or take undefined; without a rest the count is checked too. */
const correctTuple: Correction = (schema, json) => {
  const def = defOf(schema);
  const items = def.items ?? [];
  const optionalFrom = items.findLastIndex(({ _zod }) => _zod.optout !== "optional") + 1;
  let fewest = optionalFrom;
  while (fewest > 0) {
    const taken = takesNothing(items[fewest - 1] as ZodSchema);
    if (taken === undefined) return { why: "code decides which items may be missing", key: localKey(def) };
    if (!taken) break;
    fewest--;
  }
  const counted = items.findLastIndex(({ _zod }) => _zod.optin === undefined) + 1;
  json.minItems = def.rest ? fewest : Math.max(fewest, counted);
  return undefined;
};

const correctLiteral: Correction = (schema) => {
  const def = defOf(schema);
  const odd = def.values?.some(
    (v) => v !== null && !["string", "boolean"].includes(typeof v) && !Number.isFinite(v),
  );
  return odd ? { why: "a literal that has no JSON form", key: localKey(def) } : undefined;
};

/** Both sides parse, then their results are merged: a closed side passes what the other declares. */
const correctIntersection: Correction = (schema, json) => {
  const def = defOf(schema);
  const sides = [def.left, def.right].filter((side) => side !== undefined);
  if (sides.some(closesKeys)) return { why: "an intersection with a closed object", key: localKey(def) };
  if (sides.some(changesValue)) mark(json, "an intersection of parts that change the value", localKey(def));
  return undefined;
};

/** An alternative that throws keeps those behind it from being asked. */
const correctUnion: Correction = (schema, json) => {
  const { options = [], discriminator } = defOf(schema);
  if (discriminator === undefined && options.slice(0, -1).some(mayThrow)) markThrowing(schema, json);
  return undefined;
};

/** Whatever does not fit is replaced, so everything fits that does not throw. */
const correctCatch: Correction = (schema, json) => {
  clear(json);
  if (mayThrow(schema)) markThrowing(schema, json);
  return undefined;
};

function markThrowing(schema: ZodSchema, json: MutableSchema): void {
  mark(json, "parsing throws where the parts of an intersection cannot be merged", localKey(defOf(schema)));
}

const correctPipe: Correction = (schema, json) => {
  const def = defOf(schema);
  if (def.in !== undefined && defOf(def.in).type === "transform") {
    return { why: "a preprocessing step decides", key: localKey(def) };
  }
  const transforms = def.out !== undefined && defOf(def.out).type === "transform";
  mark(json, transforms ? "a transform may refuse" : "a second schema follows", localKey(def));
  return undefined;
};

const CORRECTIONS: Readonly<Record<string, Correction>> = {
  object: correctObject,
  record: correctRecord,
  tuple: correctTuple,
  literal: correctLiteral,
  intersection: correctIntersection,
  pipe: correctPipe,
  string: (schema, json) => {
    correctString(schema, json);
    return undefined;
  },
  template_literal: (_, json) => {
    if (typeof json.pattern === "string") json.pattern = unitsPattern(json.pattern);
    return undefined;
  },
  union: correctUnion,
  catch: correctCatch,
};
