/** What changed between two JSON Schemas, field by field, in words. Pure. */

export interface FieldChange {
  readonly kind: "added" | "removed" | "changed";
  readonly path: string;
  readonly words: string;
}

interface Field {
  readonly type: string;
  readonly required: boolean;
  readonly rest: string;
}

type Json = Readonly<Record<string, unknown>>;

export function fieldChanges(older: unknown, newer: unknown): FieldChange[] {
  const before = new Map<string, Field>();
  const after = new Map<string, Field>();
  collect(older, "", before);
  collect(newer, "", after);
  const paths = [...new Set([...after.keys(), ...before.keys()])];
  return paths.flatMap((path): FieldChange[] => {
    const [old, now] = [before.get(path), after.get(path)];
    if (old === undefined && now !== undefined) return [{ kind: "added", path, words: describe(now) }];
    if (now === undefined && old !== undefined)
      return [{ kind: "removed", path, words: `was ${describe(old)}` }];
    if (old === undefined || now === undefined || same(old, now)) return [];
    return [{ kind: "changed", path, words: difference(old, now) }];
  });
}

function collect(schema: unknown, path: string, fields: Map<string, Field>): void {
  if (typeof schema !== "object" || schema === null) return;
  const { properties, required, items } = schema as {
    properties?: Json;
    required?: readonly string[];
    items?: unknown;
  };
  for (const [name, member] of Object.entries(properties ?? {})) {
    const at = path === "" ? name : `${path}.${name}`;
    fields.set(at, fieldOf(member, required?.includes(name) ?? false));
    collect(member, at, fields);
  }
  if (items !== undefined) collect(items, `${path}[]`, fields);
}

function fieldOf(member: unknown, required: boolean): Field {
  const {
    type,
    properties: _p,
    required: _r,
    items: _i,
    additionalProperties: _a,
    ...rest
  } = Object(member) as Json;
  const options = (rest.enum ?? undefined) as readonly unknown[] | undefined;
  const name = options !== undefined ? options.map((one) => JSON.stringify(one)).join(" | ") : typeName(type);
  const { enum: _e, ...others } = rest;
  return { type: name, required, rest: Object.keys(others).length === 0 ? "" : JSON.stringify(others) };
}

function typeName(type: unknown): string {
  return type === undefined ? "any" : [type].flat().join(" or ");
}

function describe({ type, required, rest }: Field): string {
  return `${type}, ${required ? "required" : "optional"}${rest === "" ? "" : ` ${rest}`}`;
}

function difference(old: Field, now: Field): string {
  const parts = [];
  if (old.type !== now.type) parts.push(`${old.type} became ${now.type}`);
  if (old.required !== now.required) parts.push(now.required ? "is now required" : "is now optional");
  if (old.rest !== now.rest) parts.push(`${old.rest || "no limits"} became ${now.rest || "no limits"}`);
  return parts.join("; ");
}

function same(a: Field, b: Field): boolean {
  return a.type === b.type && a.required === b.required && a.rest === b.rest;
}
