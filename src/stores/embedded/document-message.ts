/**
 * Writes to views as they cross to the writing thread: flat (op, key, ts, version, expected, content, op, key …), with
 * documents and increments as JSON text. Objects cost several times as much to clone.
 */
import type { DocumentWrite } from "../../ports/documents.js";
import { jsonText } from "./json-copy.js";

/** A write with its fields, or what it adds, as JSON text. */
export interface TextWrite {
  readonly op: "upsert" | "delete" | "increment";
  readonly key: string;
  readonly ts: number;
  readonly version: number | undefined;
  readonly expected: number | null | undefined;
  readonly content: string | undefined;
}

export interface ViewWrites {
  readonly view: string;
  readonly flat: readonly unknown[];
}

export function packWrites(view: string, writes: readonly DocumentWrite[]): ViewWrites {
  const flat: unknown[] = [];
  for (const write of writes) {
    flat.push(write.op, write.key, write.ts, write.version, write.expected, contentOf(write));
  }
  return { view, flat };
}

export function unpackWrites({ flat }: ViewWrites): TextWrite[] {
  const writes: TextWrite[] = [];
  for (let i = 0; i < flat.length; i += 6) {
    writes.push({
      op: flat[i] as TextWrite["op"],
      key: flat[i + 1] as string,
      ts: flat[i + 2] as number,
      version: flat[i + 3] as number | undefined,
      expected: flat[i + 4] as number | null | undefined,
      content: flat[i + 5] as string | undefined,
    });
  }
  return writes;
}

function contentOf(write: DocumentWrite): string | undefined {
  switch (write.op) {
    case "upsert":
      return jsonText(write.fields);
    case "increment":
      return jsonText(write.by);
    case "delete":
      return undefined;
  }
}
