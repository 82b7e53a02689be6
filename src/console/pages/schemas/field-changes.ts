/** What changed between two JSON Schemas, field by field, in words. Pure. */
import { type Limit, limitsOf, typeWords } from "./schema-words.js";

export interface FieldChange {
  readonly kind: "added" | "removed" | "changed";
  readonly path: string;
  readonly words: string;
}

interface Field {
  readonly type: string;
  /** Undefined where nobody asks: of the whole, and of the items of a list. */
  readonly required: boolean | undefined;
  readonly limits: ReadonlyMap<string, Limit>;
}

type Json = Readonly<Record<string, unknown>>;

const WHOLE = "the payload";

export function fieldChanges(older: unknown, newer: unknown): FieldChange[] {
  const before = new Map([[WHOLE, fieldOf(older, undefined)]]);
  const after = new Map([[WHOLE, fieldOf(newer, undefined)]]);
  collect(older, "", before);
  collect(newer, "", after);
  const paths = [...new Set([...after.keys(), ...before.keys()])];
  return paths.flatMap((path): FieldChange[] => {
    const [old, now] = [before.get(path), after.get(path)];
    if (old === undefined && now !== undefined) return [{ kind: "added", path, words: describe(now) }];
    if (now === undefined && old !== undefined)
      return [{ kind: "removed", path, words: `was ${describe(old)}` }];
    if (old === undefined || now === undefined) return [];
    const words = difference(old, now);
    return words === "" ? [] : [{ kind: "changed", path, words }];
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
  if (items === undefined) return;
  fields.set(`${path}[]`, fieldOf(items, undefined));
  collect(items, `${path}[]`, fields);
}

function fieldOf(schema: unknown, required: boolean | undefined): Field {
  return { type: typeWords(schema), required, limits: limitsOf(schema) };
}

function describe({ type, required, limits }: Field): string {
  const presence = required === undefined ? [] : [required ? "required" : "optional"];
  const words = [...limits].map(([keyword, limit]) => limit.words ?? `with ${keyword}`);
  return [type, ...presence, ...words].join(", ");
}

function difference(old: Field, now: Field): string {
  const parts: string[] = [];
  if (old.type !== now.type) parts.push(`${old.type} became ${now.type}`);
  if (old.required !== now.required) parts.push(now.required ? "is now required" : "is now optional");
  for (const keyword of new Set([...old.limits.keys(), ...now.limits.keys()])) {
    const words = limitChange(keyword, old.limits.get(keyword), now.limits.get(keyword));
    if (words !== undefined) parts.push(words);
  }
  return parts.join("; ");
}

function limitChange(keyword: string, old: Limit | undefined, now: Limit | undefined): string | undefined {
  if (old?.text === now?.text) return undefined;
  if (old === undefined) return `now ${now?.words ?? `with ${keyword}`}`;
  if (now === undefined) return `no longer ${old.words ?? `with ${keyword}`}`;
  if (old.words === null || now.words === null || old.words === now.words) return `its ${keyword} changed`;
  return `${old.words} became ${now.words}`;
}
