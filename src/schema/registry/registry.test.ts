import { createRequire } from "node:module";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { BusError } from "../../model/errors.js";
import { defineTopic } from "../../model/topic.js";
import { toJsonSchema } from "../reading/normalize.js";
import type { TopicSchema } from "./registration.js";
import { SchemaRegistry } from "./registry.js";
import { type Compat, SchemaVersion } from "./schema-version.js";

const topic = "orders.placed";
const V1 = z.object({ order: z.number() });
const V2 = z.object({ order: z.number(), note: z.string().optional() });
const BROKEN = z.object({ order: z.number(), customer: z.string() });

function refusal(work: () => unknown): BusError {
  try {
    work();
  } catch (error) {
    if (BusError.is(error)) return error;
  }
  throw new Error("it was not refused");
}

function registered(...schemas: readonly Omit<TopicSchema, "topic">[]): SchemaRegistry {
  const registry = new SchemaRegistry();
  for (const schema of schemas) registry.register({ topic, ...schema });
  return registry;
}

describe("a registry in memory", () => {
  it("keeps the versions of a topic, and knows the newest", () => {
    const registry = registered({ version: 1, schema: V1 }, { version: 3, schema: V2 });
    expect(registry.versions(topic).map(({ version }) => version)).toEqual([1, 3]);
    expect(registry.latest(topic)).toMatchObject({ topic, version: 3, compat: "backward", schema: V2 });
    expect(registry.get(topic, 1)?.schema).toBe(V1);
    expect(registry.get(topic, 2)).toBeUndefined();
    expect(registry.latest("other.topic")).toBeUndefined();
    expect(registry.topics()).toEqual([topic]);
  });

  it("looks at the name of a topic once: what was checked is what a version is filed under, and held against", () => {
    const registry = registered({ version: 1, schema: V1 });
    let looks = 0;
    const placed = {
      get name(): string {
        return looks++ === 0 ? topic : "Not A Name";
      },
    };
    expect(registry.register({ topic: placed, version: 2, schema: V2 }).topic).toBe(topic);
    expect(looks).toBe(1);
    looks = 0;
    expect(registry.check({ topic: placed, version: 3, schema: BROKEN })).toMatchObject([{ against: 2 }]);
  });

  it("has Ajv compile a JSON Schema once, once more for a payload that is wrong, and what is found in a store with its first odd one", () => {
    const { Ajv2020 } = createRequire(import.meta.url)(
      "ajv/dist/2020.js",
    ) as typeof import("ajv/dist/2020.js");
    const compile = vi.spyOn(Ajv2020.prototype, "compile");
    const schema = toJsonSchema(V1);
    const registry = registered({ version: 1, schema });
    for (const order of ["seven", 7, "eight"])
      expect(registry.get(topic, 1)?.check({ order }).fits).toBe(order === 7);
    expect(compile).toHaveBeenCalledTimes(2);
    registered({ version: 1, schema });
    expect(compile).toHaveBeenCalledTimes(3);
    const found = SchemaVersion.fromEntry({
      topic,
      version: 1,
      compat: "full",
      document: { schema } as never,
      createdMs: 0,
    });
    expect(found.check({ order: 7 }).fits).toBe(true);
    expect(compile).toHaveBeenCalledTimes(3);
    for (const order of ["seven", "eight"]) expect(found.check({ order }).fits).toBe(false);
    expect(compile).toHaveBeenCalledTimes(5);
  });

  it("refuses a version that breaks its compat, says why, and is as it was", () => {
    const registry = registered({ version: 1, schema: V1 });
    const error = refusal(() => registry.register({ topic, version: 2, compat: "backward", schema: BROKEN }));
    expect(error).toMatchObject({
      code: "SCHEMA_INCOMPATIBLE",
      message:
        'version 2 of "orders.placed" is not backward compatible with version 1: at payload.customer, the newer version requires "customer", the older one may leave it out; for example {"order":0}',
      details: {
        topic,
        version: 2,
        against: 1,
        verdict: "incompatible",
        findings: [{ counterExample: { order: 0 } }],
      },
    });
    expect(registry.versions(topic)).toHaveLength(1);
    registry.register({ topic, version: 2, compat: "forward", schema: BROKEN });
    expect(registry.latest(topic)?.version).toBe(2);
  });

  it.each<[Compat, Compat, boolean]>([
    ["backward", "backward-transitive", false],
    ["forward", "forward-transitive", true],
    ["none", "none", true],
  ])("%s looks at the version before, %s at all of them", (near, far, allowed) => {
    // 1 → 2 drops the member, 2 → 3 brings it back as another type: only 1 and 3 disagree.
    const first = { version: 1, schema: z.object({ n: z.number().optional() }) };
    const second = { version: 2, schema: z.object({}), compat: "none" as const };
    const third = z.object({ n: z.string().optional() });
    expect(
      registered(first, second, { version: 3, compat: near, schema: third }).latest(topic)?.version,
    ).toBe(3);
    const strict = (): unknown => registered(first, second, { version: 3, compat: far, schema: third });
    if (allowed && far === "none") expect(strict).not.toThrow();
    else expect(refusal(strict)).toMatchObject({ code: "SCHEMA_INCOMPATIBLE", details: { against: 1 } });
  });

  it("takes the same version again, and refuses another one under its number", () => {
    const registry = registered({ version: 1, schema: V1 }, { version: 2, schema: V2 });
    registry.register({ topic, version: 1, schema: z.object({ order: z.number() }) });
    expect(registry.versions(topic)).toHaveLength(2);
    expect(refusal(() => registry.register({ topic, version: 1, schema: V2 }))).toMatchObject({
      code: "SCHEMA_CONFLICT",
      message: expect.stringContaining("a changed schema is a new version"),
    });
    expect(refusal(() => registry.register({ topic, version: 1, compat: "full", schema: V1 })).code).toBe(
      "SCHEMA_CONFLICT",
    );
  });

  it("refuses versions that do not grow", () => {
    const registry = registered({ version: 5, schema: V1 });
    expect(refusal(() => registry.register({ topic, version: 4, schema: V1 }))).toMatchObject({
      code: "SCHEMA_CONFLICT",
      details: { latest: 5 },
    });
  });

  it("refuses what cannot be told, unless it is waived with a reason; what breaks cannot be waived", () => {
    const refined = z.object({ order: z.number().refine((n) => n > 0) });
    const registry = registered({ version: 1, schema: V1 });
    expect(refusal(() => registry.register({ topic, version: 2, schema: refined }))).toMatchObject({
      code: "SCHEMA_INCOMPATIBLE",
      message: expect.stringMatching(/it cannot be told whether .* say why with "waive"/),
      details: { verdict: "unknown" },
    });
    expect(refusal(() => registry.register({ topic, version: 2, schema: refined, waive: " " })).code).toBe(
      "INVALID_OPTION",
    );
    registry.register({ topic, version: 2, schema: refined, waive: "orders were positive all along" });
    expect(registry.latest(topic)).toMatchObject({ version: 2, waive: "orders were positive all along" });
    const breaking = { topic, version: 3, schema: z.object({ order: z.string() }), waive: "never mind" };
    expect(refusal(() => registry.register(breaking)).code).toBe("SCHEMA_INCOMPATIBLE");
  });

  it("tells how a version would do without taking it", () => {
    const registry = registered({ version: 1, schema: V1 }, { version: 2, schema: V2 });
    const reports = registry.check({ topic, version: 3, compat: "full-transitive", schema: BROKEN });
    expect(reports).toMatchObject([
      { against: 1, report: { verdict: "incompatible" } },
      { against: 2, report: { verdict: "incompatible" } },
    ]);
    expect(registry.latest(topic)?.version).toBe(2);
    const again = registry.check({ topic, version: 2, compat: "backward-transitive", schema: V2 });
    expect(
      again.map(({ against }) => against),
      "not against itself",
    ).toEqual([1]);
  });

  it("takes another spelling of the same schema for the same", () => {
    const registry = registered({ version: 1, schema: V1 });
    const spelled = {
      type: "object",
      required: ["order"],
      "x-undeclared": "strip",
      properties: { order: { allOf: [{ type: "number" }] } },
    };
    registry.register({ topic, version: 1, schema: spelled });
    const kept = { ...spelled, "x-undeclared": undefined };
    // It writes the same, and reads less.
    const closed = { ...kept, additionalProperties: false };
    for (const schema of [kept, closed])
      expect(refusal(() => registry.register({ topic, version: 1, schema })).code).toBe("SCHEMA_CONFLICT");
  });

  it.each<[string, object, string]>([
    ["a topic", { topic: "Not A Topic" }, "INVALID_TOPIC"],
    ["a version", { version: 0 }, "INVALID_OPTION"],
    ["a version that events could not name", { version: 1_000_000_000 }, "INVALID_OPTION"],
    ["a version in words", { version: "1" }, "INVALID_OPTION"],
    ["a compat", { compat: "sideways" }, "INVALID_OPTION"],
    ["a schema", { schema: "string" }, "INVALID_OPTION"],
  ])("refuses %s that is none", (_, wrong, code) => {
    expect(
      refusal(() => new SchemaRegistry().register({ topic, version: 1, schema: V1, ...wrong })).code,
    ).toBe(code);
  });

  it.each([null, undefined, "orders.placed"])("refuses %j, which is no version at all", (none) => {
    const registry = new SchemaRegistry();
    expect(refusal(() => registry.register(none as never)).code).toBe("INVALID_OPTION");
    expect(refusal(() => registry.check(none as never)).code).toBe("INVALID_OPTION");
  });

  it("is asked by definition as by name", () => {
    const registry = registered({ version: 1, schema: V1 });
    const Placed = defineTopic(topic, { schema: V1 });
    const version = registry.latest(topic);
    expect(version?.version).toBe(1);
    expect([registry.latest(Placed), registry.current(Placed), registry.get(Placed, 1)]).toEqual(
      Array.from({ length: 3 }, () => version),
    );
    expect(registry.versions(Placed)).toEqual([version]);
    expect(registry.validate(Placed, { order: 7 })).toMatchObject({ version: 1, payload: { order: 7 } });
  });
});

describe("a version of nine digits", () => {
  it("is the last that there can be", () => {
    const registry = registered({ version: 999_999_999, schema: V1 });
    expect(registry.validate(topic, { order: 7 })?.version).toBe(999_999_999);
  });
});

describe("a version that was stored before patterns said how they are read", () => {
  it("is the same again, and not taken for another", () => {
    const schema = z.string().regex(/^..$/).max(5);
    const stored = { ...(toJsonSchema(schema) as object), pattern: "^..$" };
    expect(toJsonSchema(schema)).not.toEqual(stored);
    expect(() => registered({ version: 1, schema: stored }, { version: 1, schema })).not.toThrow();
    const other = z.string().regex(/^...$/).max(5);
    expect(
      refusal(() => registered({ version: 1, schema: stored }, { version: 1, schema: other })).code,
    ).toBe("SCHEMA_CONFLICT");
  });
});

describe("a payload against a registry", () => {
  const registry = registered(
    { version: 1, schema: V1 },
    {
      version: 2,
      schema: z.object({
        order: z.number(),
        tags: z.array(z.string()).optional(),
        "odd name": z.null().optional(),
      }),
    },
  );

  it("passes in the newest version, or the one that is named", () => {
    expect(registry.validate(topic, { order: 1 })).toMatchObject({ version: 2, payload: { order: 1 } });
    expect(registry.validate(topic, { order: 1 }, 1)).toMatchObject({ version: 1, payload: { order: 1 } });
    expect(registry.validate("other.topic", "anything")).toBeUndefined();
    expect(refusal(() => registry.validate(topic, {}, 7))).toMatchObject({
      code: "NOT_FOUND",
      details: { known: [1, 2] },
    });
  });

  it("is written without what the schema does not declare, and is otherwise the very same", () => {
    const plain = { order: 1 };
    expect(registry.validate(topic, plain)?.payload).toBe(plain);
    expect(registry.validate(topic, { order: 1, secret: "x" })?.payload).toEqual({ order: 1 });
  });

  it("is refused with the paths and short values of all that does not fit", () => {
    const error = refusal(() =>
      registry.validate(topic, { order: "x".repeat(500), tags: ["a", 7], "odd name": 1 }),
    );
    expect(error).toMatchObject({
      code: "SCHEMA_VIOLATION",
      retryable: false,
      details: { topic, version: 2 },
    });
    const issues = error.details?.issues as { path: string; value: string }[];
    expect(issues.map(({ path }) => path)).toEqual([
      "payload.order",
      "payload.tags[1]",
      'payload["odd name"]',
    ]);
    expect(issues[0]?.value).toHaveLength(80);
    expect(error.message).toMatch(
      /^the payload does not fit version 2 of "orders.placed": payload.order: .*, and 2 more$/,
    );
  });

  it("is refused alike by a JSON Schema, formats and expressions included", () => {
    const json = registered({
      version: 1,
      schema: {
        $schema: "http://json-schema.org/draft-07/schema#",
        type: "object",
        properties: {
          mail: { type: "string", format: "email" },
          code: { pattern: "^\\p{Lu}+$" },
          at: { items: [{ type: "integer" }], type: "array" },
        },
        required: ["mail"],
      },
    });
    expect(json.validate(topic, { mail: "a@example.org", code: "ÄÖ", at: [1, "x"] })?.version).toBe(1);
    const issues = (payload: unknown): unknown =>
      refusal(() => json.validate(topic, payload)).details?.issues;
    expect(issues({ mail: "nobody", code: "a", at: ["x"] })).toMatchObject([
      { path: "payload.mail", message: 'must match format "email"', value: '"nobody"' },
      { path: "payload.code" },
      { path: "payload.at[0]", value: '"x"' },
    ]);
    expect(issues({})).toEqual([{ path: "payload.mail", message: "must have required property 'mail'" }]);
  });

  it("keeps names that JavaScript holds dear as plain data", () => {
    const json = registered({
      version: 1,
      schema: { type: "object", required: ["constructor"], additionalProperties: { type: "string" } },
    });
    const payload = JSON.parse('{"constructor":"a","__proto__":"b"}') as object;
    expect(json.validate(topic, payload)?.payload).toBe(payload);
    expect(refusal(() => json.validate(topic, {})).code).toBe("SCHEMA_VIOLATION");
  });

  it("says so when the schema cannot decide at once, or fails", () => {
    const later = registered({ version: 1, schema: z.string().refine(async () => true) });
    expect(refusal(() => later.validate(topic, "x"))).toMatchObject({ code: "INVALID_OPTION" });
    const failing = registered({
      version: 1,
      schema: z.string().refine(() => {
        throw new Error("no network");
      }),
    });
    expect(refusal(() => failing.validate(topic, "x"))).toMatchObject({
      code: "SCHEMA_VIOLATION",
      message: expect.stringContaining("no network"),
    });
  });
});
