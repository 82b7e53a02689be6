/** Marks in a JSON Schema at places where code decides. A key names what decides: equal keys, equal sets. */
import { identityOf } from "../tree/identity.js";
import { type JsonSchemaObject, OPAQUE, type OpaqueMark } from "./schema-input.js";

export type MutableSchema = Record<string, unknown>;

/** Says that the set is smaller than the keywords say. */
export function mark(json: MutableSchema, why: string, key: string): void {
  const marks = (json[OPAQUE] ?? []) as readonly OpaqueMark[];
  json[OPAQUE] = [...marks, { why, key }];
}

/** Drops all that is said: nobody knows the set. */
export function forget(json: MutableSchema, why: string, key: string): void {
  clear(json);
  mark(json, why, key);
}

export function clear(json: MutableSchema): void {
  for (const keyword of Object.keys(json)) delete json[keyword];
}

/** Names functions and definitions for as long as this process lives: the same objects decide alike. */
export function localKey(...objects: readonly object[]): string {
  return `#${objects.map(identityOf).join(".")}`;
}

/** A copy to be stored: without keys that mean something in this process only. */
export function withoutLocalKeys(schema: JsonSchemaObject): JsonSchemaObject {
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value).map(([name, member]) => [
      name,
      name === OPAQUE ? marksOf(member) : copy(member),
    ]);
    return Object.fromEntries(members);
  };
  return copy(schema) as JsonSchemaObject;
}

function marksOf(marks: unknown): unknown {
  if (!Array.isArray(marks)) return marks;
  return (marks as OpaqueMark[]).map(({ why, key }) =>
    key === undefined || key.startsWith("#") ? { why } : { why, key },
  );
}
