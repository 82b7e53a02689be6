/** Arguments as people write them: numbers, times, places, pairs, JSON. */
import { createReadStream } from "node:fs";
import { InvalidArgumentError } from "commander";
import { failure } from "./exit.js";

/** A whole number from `min` on. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(
        max === Number.MAX_SAFE_INTEGER
          ? `Give a number from ${min} on.`
          : `Give a number from ${min} to ${max}.`,
      );
    return value;
  };
}

export function positiveNumber(text: string): number {
  const value = Number(text);
  if (!(Number.isFinite(value) && value > 0)) throw new InvalidArgumentError("Give a number above 0.");
  return value;
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** As `span`, and not 0. */
export function positiveSpan(text: string): number {
  const ms = span(text);
  if (ms === 0) throw new InvalidArgumentError("Give a span above 0.");
  return ms;
}

/** "90s", "15m", "2h", "7d", in milliseconds. */
export function span(text: string): number {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  if (amount === undefined || unit === undefined)
    throw new InvalidArgumentError('Give a span such as "90s", "15m", "2h" or "7d".');
  return Number(amount) * (UNITS[unit] ?? 0);
}

/** Milliseconds since the epoch, ISO 8601, or a span before now ("-15m"). */
export function time(text: string): number {
  const ms = timeIn(text);
  if (Number.isNaN(ms))
    throw new InvalidArgumentError(
      'Give a time: milliseconds, ISO 8601, or a span before now such as "-15m".',
    );
  return ms;
}

function timeIn(text: string): number {
  if (/^-\d+[smhd]$/.test(text)) return Math.max(0, Date.now() - span(text.slice(1)));
  if (/^\d{10,16}$/.test(text)) return Number(text);
  return /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
}

export type Place =
  | "earliest"
  | "latest"
  | { readonly ts: number }
  | { readonly id: string }
  | { readonly seq: number };

/** "earliest", "latest", "id:<event>", "seq:<n>", or a time. */
export function place(text: string): Place {
  if (text === "earliest" || text === "latest") return text;
  if (text.startsWith("id:")) return { id: text.slice(3) };
  if (/^seq:\d{1,15}$/.test(text)) return { seq: Number(text.slice(4)) };
  const ts = timeIn(text);
  if (Number.isNaN(ts)) throw new InvalidArgumentError(`Give ${PLACES}.`);
  return { ts };
}

/** A place as it stands in a URL. */
export function placeText(at: Place): string {
  if (typeof at === "string") return at;
  if ("id" in at) return `id:${at.id}`;
  return "seq" in at ? `seq:${at.seq}` : String(at.ts);
}

export const PLACES = '"earliest", "latest", a time, a span such as "-15m", "id:<event>" or "seq:<n>"';

/** For options that may be given several times. */
export function gather(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** "name=value" pairs, given several times. */
export function gatherPairs(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError('Give "name=value".');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

export function parseJson(text: string, what: string, hint?: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw failure("INVALID_PAYLOAD", `${what} is not JSON`, {
      cause: error,
      ...(hint !== undefined && { hint }),
    });
  }
}

/** The bytes of a file, or of stdin for "-". */
export function readInput(path: string): AsyncIterable<Buffer> {
  if (path === "-") return process.stdin;
  const stream = createReadStream(path);
  return readable(stream, path);
}

async function* readable(stream: AsyncIterable<Buffer>, path: string): AsyncGenerator<Buffer> {
  try {
    yield* stream;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw failure(code === "ENOENT" ? "NOT_FOUND" : "STORE_UNAVAILABLE", `${path} cannot be read (${code})`, {
      cause: error,
    });
  }
}

/** All of it as text, without the byte order mark that some editors write. */
export async function readText(path: string): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of readInput(path)) chunks.push(Buffer.from(chunk));
  return new TextDecoder().decode(Buffer.concat(chunks));
}
