/** JSON in lines, alone or against what it was before: for each line whether it stayed, came or went. Pure. */
import { visible } from "./format.js";

export type Mark = "same" | "added" | "removed";

export interface Line {
  readonly depth: number;
  readonly mark: Mark;
  /** A quoted member name. */
  readonly name?: string;
  readonly value: string;
  readonly kind: "string" | "number" | "word" | "frame";
  readonly tail: string;
}

type Json = Readonly<Record<string, unknown>>;

export function linesOf(value: unknown, compared?: { readonly before: unknown }): Line[] {
  const lines: Line[] = [];
  if (compared === undefined) write(lines, value, { depth: 0, mark: "same" });
  else differ(lines, compared.before, value, { depth: 0 });
  return lines;
}

interface At {
  readonly depth: number;
  readonly name?: string;
  readonly comma?: boolean;
}

function write(lines: Line[], value: unknown, at: At & { readonly mark: Mark }): void {
  const { depth, mark, comma } = at;
  const tail = comma ? "," : "";
  const named = at.name === undefined ? {} : { name: at.name };
  const members = membersOf(value);
  if (members === null || members.length === 0) {
    lines.push({ depth, mark, ...named, ...scalarOf(value), tail });
    return;
  }
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  lines.push({ depth, mark, ...named, value: open ?? "", kind: "frame", tail: "" });
  members.forEach(([name, member], i) => {
    const more = { depth: depth + 1, mark, comma: i < members.length - 1 };
    write(lines, member, name === null ? more : { ...more, name });
  });
  lines.push({ depth, mark, value: close ?? "", kind: "frame", tail });
}

/** Objects and arrays of one kind are gone into; everything else stayed, or went and came. */
function differ(lines: Line[], before: unknown, after: unknown, at: At): void {
  const kind = kindOf(after);
  if (sameText(before, after)) {
    write(lines, after, { ...at, mark: "same" });
    return;
  }
  if (kind === "scalar" || kind !== kindOf(before)) {
    if (before !== undefined) write(lines, before, { ...at, mark: "removed" });
    if (after !== undefined) write(lines, after, { ...at, mark: "added" });
    return;
  }
  const named = at.name === undefined ? {} : { name: at.name };
  const [open, close] = kind === "array" ? ["[", "]"] : ["{", "}"];
  lines.push({ depth: at.depth, mark: "same", ...named, value: open, kind: "frame", tail: "" });
  const names =
    kind === "array"
      ? Array.from({ length: Math.max((before as unknown[]).length, (after as unknown[]).length) }, (_, i) =>
          String(i),
        )
      : [...new Set([...Object.keys(after as Json), ...Object.keys(before as Json)])];
  names.forEach((name, i) => {
    const place = { depth: at.depth + 1, comma: i < names.length - 1 };
    const shown = kind === "array" ? place : { ...place, name: visible(JSON.stringify(name)) };
    differ(lines, (before as Json)[name], (after as Json)[name], shown);
  });
  lines.push({ depth: at.depth, mark: "same", value: close, kind: "frame", tail: at.comma ? "," : "" });
}

function membersOf(value: unknown): (readonly [string | null, unknown])[] | null {
  if (Array.isArray(value)) return value.map((member) => [null, member] as const);
  if (typeof value !== "object" || value === null) return null;
  return Object.entries(value).map(([name, member]) => [visible(JSON.stringify(name)), member] as const);
}

function scalarOf(value: unknown): { readonly value: string; readonly kind: Line["kind"] } {
  if (typeof value === "string") return { value: visible(JSON.stringify(value)), kind: "string" };
  if (typeof value === "number") return { value: String(value), kind: "number" };
  if (typeof value === "object" && value !== null)
    return { value: Array.isArray(value) ? "[]" : "{}", kind: "frame" };
  return { value: String(value), kind: "word" };
}

function kindOf(value: unknown): "object" | "array" | "scalar" {
  if (Array.isArray(value)) return "array";
  return typeof value === "object" && value !== null ? "object" : "scalar";
}

function sameText(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** The members of two documents that are not the same, at the top. */
export function changedMembers(before: Json | null | undefined, after: Json | null | undefined): string[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names].filter((name) => !name.startsWith("_") && !sameText(before?.[name], after?.[name]));
}
