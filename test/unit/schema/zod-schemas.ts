/** Random Zod schemas of every kind that a payload may have, with values near them. */
import fc from "fast-check";
import { z } from "zod";
import { text } from "./json-schemas.js";

const NAMES = ["a", "b", "kind"] as const;
const number = fc.constantFrom(-1, 0, 1, 2, 3, 1.5, 10);

const scalars: fc.Arbitrary<z.ZodType> = fc.oneof(
  fc
    .constantFrom<() => z.ZodType>(
      () => z.string(),
      () => z.number(),
      () => z.int(),
      () => z.boolean(),
      () => z.null(),
      () => z.any(),
      () => z.unknown(),
      () => z.never(),
      () => z.email(),
      () => z.url(),
      () => z.uuid(),
      () => z.ipv6(),
      () => z.base64(),
      () => z.hostname(),
      () => z.iso.date(),
      () => z.iso.datetime(),
      () => z.iso.datetime({ local: true, offset: true }),
      () => z.int32(),
      () => z.literal("a"),
      () => z.literal(["a", 1, null, true]),
      () => z.enum(["a", "b", "ab"]),
      () => z.templateLiteral(["a", z.number()]),
      () => z.json(),
    )
    .map((make) => make()),
  fc.tuple(number, number).map(([a, b]) => z.number().min(a).max(b)),
  fc.tuple(number, number).map(([a, b]) => z.number().gt(a).lte(b)),
  fc.constantFrom(0.1, 1, 1.5, 2, 3, 10).map((n) => z.number().multipleOf(n)),
  fc.tuple(fc.nat(2), fc.nat(3)).map(([a, b]) => z.string().min(a).max(b)),
  fc.nat(2).map((n) => z.string().length(n)),
  text.map((t) => z.string().startsWith(t)),
  text.map((t) => z.string().endsWith(t)),
  fc
    .tuple(text, fc.option(fc.nat(2), { nil: undefined }))
    .map(([t, position]) => z.string().includes(t, position === undefined ? undefined : { position })),
  fc
    .constantFrom(/^a/, /^[a-z]+$/i, /b$/m, /^.$/s, /^[^b]*$/u, /\d/g, /^.{1,2}$/, /^.{2}$/u)
    .map((pattern) => z.string().regex(pattern)),
  fc
    .constantFrom<() => z.ZodType>(
      () => z.string().trim().min(1),
      () => z.string().toLowerCase(),
      () => z.string().trim(),
      () => z.string().max(1).trim(),
      () => z.string().lowercase(),
      () => z.url().max(8),
      () => z.string().min(1).trim().regex(/^a/),
    )
    .map((make) => make()),
);

/** Schemas in which code takes part, or that have no JSON form. */
const coded: fc.Arbitrary<z.ZodType> = fc
  .constantFrom<() => z.ZodType>(
    () => z.coerce.number(),
    () => z.coerce.string().min(1),
    () => z.coerce.boolean(),
    () => z.coerce.date(),
    () => z.date(),
    () => z.undefined(),
    () => z.bigint(),
    () => z.string().refine((s) => s.length !== 1),
    () => z.string().transform((s) => s.length),
    () => z.preprocess((v) => v ?? "a", z.string()),
    () => z.stringbool(),
    () => z.string().pipe(z.string().min(2)),
    () => z.custom((v) => v === 1),
    () => z.literal([undefined, "a"]),
    () =>
      z
        .number()
        .overwrite((n) => n + 1)
        .max(2),
    () =>
      z
        .string()
        .prefault("a")
        .refine((s) => s === "a"),
  )
  .map((make) => make());

function composed(inner: fc.Arbitrary<z.ZodType>): fc.Arbitrary<z.ZodType> {
  const shape = fc.dictionary(fc.constantFrom(...NAMES), inner, { maxKeys: 3, noNullPrototype: true });
  const key = fc.constantFrom<() => z.ZodType<string>>(
    () => z.string(),
    () => z.enum(["a", "b"]),
    () => z.string().regex(/^a/),
    () => z.string().max(1),
    () => z.union([z.literal("a"), z.literal("kind")]),
  );
  return fc.oneof(
    { weight: 4, arbitrary: shape.map((s) => z.object(s)) },
    { weight: 1, arbitrary: shape.map((s) => z.strictObject(s)) },
    { weight: 1, arbitrary: shape.map((s) => z.looseObject(s)) },
    { weight: 1, arbitrary: fc.tuple(shape, inner).map(([s, rest]) => z.object(s).catchall(rest)) },
    { weight: 1, arbitrary: inner.map((s) => z.array(s)) },
    {
      weight: 1,
      arbitrary: fc.tuple(inner, fc.nat(2), fc.nat(3)).map(([s, a, b]) => z.array(s).min(a).max(b)),
    },
    { weight: 1, arbitrary: fc.tuple(inner, inner).map(([a, b]) => z.tuple([a, b])) },
    {
      weight: 1,
      arbitrary: fc.tuple(inner, inner, inner).map(([a, b, rest]) => z.tuple([a, b.optional()], rest)),
    },
    { weight: 1, arbitrary: fc.tuple(key, inner).map(([k, v]) => z.record(k() as z.ZodString, v)) },
    { weight: 1, arbitrary: inner.map((v) => z.partialRecord(z.enum(["a", "b"]), v)) },
    { weight: 1, arbitrary: fc.tuple(key, inner).map(([k, v]) => z.looseRecord(k() as z.ZodString, v)) },
    {
      weight: 2,
      arbitrary: fc.array(inner, { minLength: 1, maxLength: 3 }).map((s) => z.union(s as [z.ZodType])),
    },
    { weight: 1, arbitrary: fc.tuple(inner, inner).map(([a, b]) => z.intersection(a, b)) },
    { weight: 1, arbitrary: fc.tuple(shape, shape).map(([a, b]) => z.object(a).and(z.object(b))) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(inner, inner)
        .map(([a, b]) =>
          z.discriminatedUnion("kind", [
            z.object({ kind: z.literal("a"), a }),
            z.strictObject({ kind: z.literal(["b", "ab"]), b: b.optional() }),
          ]),
        ),
    },
  );
}

function wrapped(inner: fc.Arbitrary<z.ZodType>): fc.Arbitrary<z.ZodType> {
  const wrap = fc.constantFrom<(s: z.ZodType) => z.ZodType>(
    (s) => s.optional(),
    (s) => s.nullable(),
    (s) => s.nullish(),
    (s) => s.default("a"),
    (s) => s.prefault("a"),
    (s) => s.catch("a"),
    (s) => s.readonly(),
    (s) => s.optional().nonoptional(),
    (s) => s.describe("said").meta({ title: "t", minLength: 9, id: undefined }),
    (s) => z.lazy(() => s),
    (s) => s.optional().nullable().describe("x"),
    (s) => s.refine((v) => v !== "ab"),
  );
  return fc.tuple(wrap, inner).map(([w, s]) => w(s));
}

function schemas(leaf: fc.Arbitrary<z.ZodType>): fc.Arbitrary<z.ZodType> {
  return fc.letrec<{ schema: z.ZodType }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { weight: 4, arbitrary: leaf },
      { weight: 4, arbitrary: composed(tie("schema")) },
      { weight: 3, arbitrary: wrapped(tie("schema")) },
    ),
  })).schema;
}

export const zodSchema: fc.Arbitrary<z.ZodType> = schemas(
  fc.oneof({ weight: 6, arbitrary: scalars }, { weight: 1, arbitrary: coded }),
);

/** Zod throws where the two sides of an intersection do not go together: not accepted. */
export function zodSays(schema: z.ZodType, value: unknown): boolean {
  try {
    return schema.safeParse(value).success;
  } catch {
    return false;
  }
}
