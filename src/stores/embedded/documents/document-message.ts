/**
 * Writes to views as they cross to the writing thread: one JSON text for all of them. Objects cost several times as much
 * to clone, and so do many small texts. A write that differs from the one before it in nothing but its key, as when events
 * are counted, is its key alone.
 */
import { BusError } from "../../../model/errors.js";
import type { DocumentWrite } from "../../../ports/documents.js";
import { jsonText } from "../json-copy.js";

/** A write with its fields as JSON text. */
export interface TextWrite {
  readonly op: "upsert" | "delete" | "increment";
  readonly key: string;
  readonly ts: number;
  readonly version: number | undefined;
  readonly expected: number | null | undefined;
  /** What an upsert puts there. */
  readonly fields: string | null;
  /** What an increment adds. */
  readonly by: Readonly<Record<string, number>> | null;
}

export interface ViewWrites {
  readonly view: string;
  readonly writes: string;
}

/** JSON has one kind of nothing and no endless numbers: `undefined` crosses as false, numbers that need it as text. */
type Crossing = number | string | null | false;

type Packed = readonly [
  op: DocumentWrite["op"],
  key: string,
  ts: Crossing,
  version: Crossing,
  expected: Crossing,
  content: unknown,
];

export function packWrites(view: string, writes: readonly DocumentWrite[]): ViewWrites {
  const packed: (Packed | string)[] = [];
  let before: DocumentWrite | undefined;
  for (const write of writes) {
    if (typeof write.key !== "string")
      throw new BusError("INVALID_OPTION", "the key of a document must be a string");
    packed.push(before !== undefined && isLike(write, before) ? write.key : packedWrite(write));
    before = write;
  }
  return { view, writes: JSON.stringify(packed) };
}

export function unpackWrites({ writes }: ViewWrites): TextWrite[] {
  let before: TextWrite;
  return (JSON.parse(writes) as (Packed | string)[]).map((packed) => {
    before = typeof packed === "string" ? { ...before, key: packed } : unpacked(packed);
    return before;
  });
}

function packedWrite(write: DocumentWrite): Packed {
  const { op, key, ts, version, expected } = write;
  return [op, key, crossing(ts), crossing(version), crossing(expected), contentOf(write)];
}

function unpacked([op, key, ts, version, expected, content]: Packed): TextWrite {
  return {
    op,
    key,
    ts: crossed(ts) as number,
    version: crossed(version) as number | undefined,
    expected: crossed(expected),
    fields: op === "upsert" ? (content as string) : null,
    by: op === "increment" ? (content as Record<string, number>) : null,
  };
}

function crossing(value: number | null | undefined): Crossing {
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  return value === undefined ? false : value;
}

function crossed(value: Crossing): number | null | undefined {
  if (typeof value === "string") return Number(value);
  return value === false ? undefined : value;
}

/** Whether an increment is the one before it under another key. */
function isLike(write: DocumentWrite, before: DocumentWrite): boolean {
  if (write.op !== "increment" || before.op !== "increment" || write.ts !== before.ts) return false;
  if (write.version !== before.version || write.expected !== before.expected) return false;
  return write.by === before.by || isSame(write.by, before.by);
}

/** The same members in the same order. */
function isSame(by: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(by);
  const others = Object.keys(other);
  return (
    names.length === others.length && names.every((name, i) => name === others[i] && by[name] === other[name])
  );
}

function contentOf(write: DocumentWrite): unknown {
  switch (write.op) {
    case "upsert":
      return jsonText(write.fields);
    case "increment":
      return areNumbers(write.by) ? write.by : JSON.parse(jsonText(write.by));
    case "delete":
      return null;
  }
}

/** A plain object of finite numbers is what its JSON says: it needs no closer look. */
function areNumbers(by: unknown): boolean {
  if (typeof by !== "object" || by === null || Object.getPrototypeOf(by) !== Object.prototype) return false;
  for (const name in by) if (!Number.isFinite((by as Record<string, unknown>)[name])) return false;
  return true;
}
