/** What we look at inside a Zod 4 schema: its kind, its parts and its checks, by the names Zod's core gives them. */
import { z } from "zod";

export interface ZodCheck {
  readonly _zod: { readonly def: ZodCheckDef };
}

export interface ZodCheckDef {
  readonly check: string;
  readonly value?: unknown;
  readonly format?: string;
  readonly pattern?: RegExp;
  readonly [detail: string]: unknown;
}

export interface ZodSchema {
  readonly _zod: {
    readonly def: unknown;
    readonly traits: ReadonlySet<string>;
    /** Whether it may be absent on the way in, on the way out. */
    readonly optin?: string | undefined;
    readonly optout?: string | undefined;
    /** The values of an enum or a literal. */
    readonly values?: ReadonlySet<unknown> | undefined;
    readonly toJSONSchema?: unknown;
  };
}

export interface ZodDef {
  readonly type: string;
  readonly checks?: readonly ZodCheck[];
  readonly coerce?: boolean;
  readonly shape?: Readonly<Record<string, ZodSchema>>;
  readonly catchall?: ZodSchema;
  readonly element?: ZodSchema;
  readonly items?: readonly ZodSchema[];
  readonly rest?: ZodSchema | null;
  readonly options?: readonly ZodSchema[];
  readonly discriminator?: string;
  readonly left?: ZodSchema;
  readonly right?: ZodSchema;
  readonly keyType?: ZodSchema;
  readonly valueType?: ZodSchema;
  readonly mode?: string;
  readonly partial?: boolean;
  readonly innerType?: ZodSchema;
  readonly getter?: () => ZodSchema;
  readonly in?: ZodSchema;
  readonly out?: ZodSchema;
  readonly transform?: object;
  readonly values?: readonly unknown[];
}

export function defOf(schema: ZodSchema): ZodDef {
  return schema._zod.def as ZodDef;
}

/** Every check in the order it runs; a format schema such as `z.email()` is its own first check. */
export function checksOf(schema: ZodSchema): readonly ZodCheck[] {
  const own = schema._zod.traits.has("$ZodCheck") ? [schema as unknown as ZodCheck] : [];
  return [...own, ...(defOf(schema).checks ?? [])];
}

function childrenOf(def: ZodDef): readonly ZodSchema[] {
  const single = [def.catchall, def.element, def.rest, def.left, def.right, def.keyType, def.valueType];
  const wrapped = [def.innerType, def.getter?.(), def.in, def.out];
  const listed = [...Object.values(def.shape ?? {}), ...(def.items ?? []), ...(def.options ?? [])];
  return [...single, ...wrapped, ...listed].filter((child) => child !== undefined && child !== null);
}

/** Whether the schema or any part of it is as `test` says. */
function some(schema: ZodSchema, test: (schema: ZodSchema, def: ZodDef) => boolean): boolean {
  const seen = new Set([schema]);
  for (const each of seen) {
    const def = defOf(each);
    if (test(each, def)) return true;
    for (const child of childrenOf(def)) seen.add(child);
  }
  return false;
}

/** Whether parsing may give back something other than what went in, members left out aside. */
export function changesValue(schema: ZodSchema): boolean {
  return some(schema, (each, def) => {
    if (["default", "prefault", "catch", "pipe", "transform", "success", "promise"].includes(def.type))
      return true;
    if (def.coerce === true) return true;
    return checksOf(each).some((check) => isOverwrite(check));
  });
}

/** Whether parsing may throw: Zod does where the two sides of an intersection make different values of one. */
export function mayThrow(schema: ZodSchema): boolean {
  return some(schema, (_, { left, right }) =>
    [left, right].some((side) => side !== undefined && changesValue(side)),
  );
}

const WITHOUT_PARTS: ReadonlySet<string> = new Set([
  "string",
  "number",
  "boolean",
  "null",
  "enum",
  "literal",
  "template_literal",
]);

/** Whether a union may choose between alternatives that take the same object or list, each of which may make something else of it. */
export function hasRivals(schema: ZodSchema): boolean {
  return some(schema, (_, { options = [], discriminator }) => {
    const others = options.filter((option) => !WITHOUT_PARTS.has(defOf(option).type));
    return discriminator === undefined && others.length > 1;
  });
}

/** `z.url()` trims, as the overwriting checks do: what follows sees another value. */
export function isOverwrite(check: ZodCheck): boolean {
  const { check: kind, format } = check._zod.def;
  return kind === "overwrite" || (kind === "string_format" && format === "url");
}

/** Whether code of the schema's author decides if the check is made. Zod asks of some whether there is a length at all. */
export function isConditional({ _zod: { def } }: ZodCheck): boolean {
  return def.when !== undefined && String(def.when) !== ASKS_FOR_LENGTH;
}

const ASKS_FOR_LENGTH = String(checksOf(z.string().min(1))[0]?._zod.def.when);

/** Whether it refuses members by name, at its top level. */
export function closesKeys(schema: ZodSchema): boolean {
  const seen = new Set([schema]);
  for (const each of seen) {
    const def = defOf(each);
    if (def.type === "object" && def.catchall !== undefined && defOf(def.catchall).type === "never")
      return true;
    if (def.type === "record" && def.keyType !== undefined && !isAnyString(def.keyType)) return true;
    const inward = [def.innerType, def.getter?.(), def.left, def.right, def.in, ...(def.options ?? [])];
    for (const child of inward) if (child !== undefined) seen.add(child);
  }
  return false;
}

function isAnyString(schema: ZodSchema): boolean {
  return defOf(schema).type === "string" && checksOf(schema).length === 0;
}

/** Whether a record's keys are texts that the export expresses: strings, enums, literals and unions of them. */
export function onlyNames(schema: ZodSchema): boolean {
  const kinds = ["string", "enum", "literal", "template_literal", "union"];
  const odd = some(schema, (each, def) => {
    if (!kinds.includes(def.type) || def.coerce === true) return true;
    const values = def.type === "enum" || def.type === "literal" ? [...(each._zod.values ?? [])] : [];
    return (
      values.some((value) => typeof value !== "string") || checksOf(each).some((check) => isOverwrite(check))
    );
  });
  return !odd;
}
