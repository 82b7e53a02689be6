/**
 * Several writes to one document in a transaction as one: what they come to, at the place of the first. Each update
 * costs the server as much as any other, and a projector that counts writes the same documents over and over.
 *
 * The version rises by as many as there were. Writes with a version stay as they are, and so do those that expect
 * something: it is said of what stands before them. Only whole numbers are added up here, and none across a fraction, so that
 * no digit is lost.
 */
import type { JsonObject, JsonValue } from "../../../model/json.js";
import type { DocumentWrite } from "../../../ports/documents.js";

export interface FoldedWrite {
  readonly write: DocumentWrite;
  /** How many writes it stands for. */
  readonly count: number;
}

export function foldWrites(writes: readonly DocumentWrite[]): FoldedWrite[] {
  const folded: FoldedWrite[] = [];
  const places = new Map<string, number>();
  /** Keys of which something had to stay apart: what is added after it must be added in the same order. */
  const apart = new Set<string>();
  for (const write of writes) {
    const { key, op } = write;
    const place = places.get(key);
    const before = place === undefined ? undefined : (folded[place] as FoldedWrite);
    if (op !== "increment") apart.delete(key);
    const both = before === undefined || apart.has(key) ? null : foldTwo(before.write, write);
    if (place !== undefined && before !== undefined && both !== null) {
      folded[place] = { write: both, count: before.count + 1 };
    } else {
      places.set(key, folded.push({ write, count: 1 }) - 1);
      if (before !== undefined && op === "increment") apart.add(key);
    }
  }
  return folded;
}

/** Null if they have to stay two. What the first expects, the one for both expects. */
function foldTwo(first: DocumentWrite, second: DocumentWrite): DocumentWrite | null {
  if (first.version !== undefined || second.version !== undefined || second.expected !== undefined)
    return null;
  const expected = first.expected === undefined ? undefined : { expected: first.expected };
  if (second.op !== "increment") return { ...second, ...expected };
  const { key, ts } = second;
  switch (first.op) {
    case "increment": {
      const by = sums(first.by, second.by);
      return by && { op: "increment", key, ts, by: by as Record<string, number>, ...expected };
    }
    case "upsert": {
      const fields = sums(first.fields, second.by);
      return fields && { op: "upsert", key, ts, fields, ...expected };
    }
    case "delete":
      return { op: "upsert", key, ts, fields: second.by, ...expected };
  }
}

/** Fields that are absent, or no numbers, start at 0. Null if a sum might not be exact. */
function sums(fields: JsonObject, by: Readonly<Record<string, number>>): JsonObject | null {
  const after = new Map<string, JsonValue>(Object.entries(fields));
  for (const [name, amount] of Object.entries(by)) {
    const present = after.get(name);
    const sum = (typeof present === "number" ? present : 0) + amount;
    const exact = [present, amount, sum].every((n) => Number.isSafeInteger(n));
    if (typeof present === "number" && !exact) return null;
    after.set(name, sum);
  }
  // fromEntries defines members, so that `__proto__` is one like any other.
  return Object.fromEntries(after);
}
