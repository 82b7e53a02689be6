/**
 * The named string formats that are asserted, each by Zod's own definition, so that a payload is judged alike in a
 * process that has the Zod schema and in one that has only its JSON Schema. Other names are notes, not assertions.
 */
import { z } from "zod";

interface Format {
  readonly test: (text: string) => boolean;
  /** Texts that have the format, for counter-examples. */
  readonly examples: readonly string[];
}

function format(schema: z.core.$ZodType, ...examples: readonly string[]): Format {
  return { test: (text) => z.safeParse(schema, text).success, examples };
}

const FORMATS: ReadonlyMap<string, Format> = new Map([
  ["base64", format(z.base64(), "AA==")],
  ["base64url", format(z.base64url(), "AA")],
  ["cidrv4", format(z.cidrv4(), "10.0.0.0/8")],
  ["cidrv6", format(z.cidrv6(), "::/0")],
  ["date", format(z.iso.date(), "2020-01-01")],
  [
    "date-time",
    format(z.iso.datetime({ offset: true }), "2020-01-01T00:00:00Z", "2020-01-01T00:00:00+01:00"),
  ],
  ["duration", format(z.iso.duration(), "P1D")],
  ["email", format(z.email(), "a@example.org")],
  ["hostname", format(z.hostname(), "example.org", "localhost")],
  ["ipv4", format(z.ipv4(), "127.0.0.1")],
  ["ipv6", format(z.ipv6(), "::1")],
  ["jwt", format(z.jwt(), "eyJhbGciOiJIUzI1NiJ9.e30.AA")],
  ["uri", format(z.url(), "https://example.org/", "mailto:a@example.org")],
  ["uuid", format(z.guid(), "00000000-0000-4000-8000-000000000000", "00000000-0000-0000-0000-000000000001")],
]);

export function isKnownFormat(name: string): boolean {
  return FORMATS.has(name);
}

/** undefined: the name says nothing to us. */
export function formatTest(name: string): ((text: string) => boolean) | undefined {
  return FORMATS.get(name)?.test;
}

export function hasFormat(name: string, text: string): boolean | undefined {
  return formatTest(name)?.(text);
}

export function formatExamples(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => FORMATS.get(name)?.examples ?? []);
}

/** Every format by name, as Ajv takes them. */
export function formatTests(): Record<string, (text: string) => boolean> {
  return Object.fromEntries([...FORMATS].map(([name, { test }]) => [name, test]));
}
