import { describe, expect, it } from "vitest";
import { z } from "zod";
import { BusError } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import { SchemaRegistry } from "../registry/registry.js";
import { type NormalizeOptions, normalizeEvent, UpcastChain } from "./upcast.js";

const topic = "orders.placed";

function schemas(): SchemaRegistry {
  const registry = new SchemaRegistry();
  registry.register({ topic, version: 1, schema: z.object({ order: z.number() }) });
  registry.register({ topic, version: 2, compat: "none", schema: z.object({ order: z.string() }) });
  registry.register({
    topic,
    version: 3,
    compat: "none",
    schema: z.object({ order: z.string(), currency: z.string() }),
  });
  return registry;
}

const toText = (v1: { order: number }): { order: string } => ({ order: String(v1.order) });
const inEuro = (v2: { order: string }): { order: string; currency: string } => ({ ...v2, currency: "EUR" });
const upcasts = new UpcastChain().add(topic, 1, toText).add({ name: topic }, 2, inEuro);

function event(payload: unknown, version?: number | string, name = topic): EventRecord {
  const headers = version === undefined ? {} : { headers: { "x-schema-version": String(version) } };
  return { id: "e1", topic: name, partition: 0, seq: 1, ts: 0, payload, ...headers };
}

function refusal(payload: EventRecord, options: Partial<NormalizeOptions>): BusError {
  try {
    normalizeEvent(payload, { schemas: schemas(), ...options });
  } catch (error) {
    if (BusError.is(error)) return error;
  }
  throw new Error("it was not refused");
}

describe("a chain of upcasts", () => {
  it("takes a payload step by step", () => {
    expect(upcasts.upcast(topic, { order: 7 }, 1, 3)).toEqual({ order: "7", currency: "EUR" });
    expect(upcasts.upcast(topic, { order: "7" }, 2, 3)).toEqual({ order: "7", currency: "EUR" });
    expect(upcasts.upcast(topic, "as it is", 3, 3)).toBe("as it is");
  });

  it("names it at once, however far apart the versions are", () => {
    expect(() => new UpcastChain().upcast(topic, {}, 1, 999_999_999)).toThrow(
      /no upcast from version 1 to 2/,
    );
  });

  it("names the first step that is missing and takes none", () => {
    let taken = 0;
    const gap = new UpcastChain().add(topic, 1, () => taken++).add(topic, 3, () => taken++);
    expect(() => gap.upcast(topic, {}, 1, 4)).toThrow(
      expect.objectContaining({ code: "NOT_FOUND", details: { topic, from: 1, to: 4, missing: 2 } }),
    );
    expect(taken).toBe(0);
    expect(gap.missing(topic, 1, 5)).toEqual([2, 4]);
    expect(gap.missing("other", 1, 2)).toEqual([1]);
    expect(gap.missing("other", 1, 999_999_999)).toHaveLength(1_000);
  });

  it("has one step from a version, and none before the first", () => {
    const invalid = expect.objectContaining({ code: "INVALID_OPTION" });
    expect(() => new UpcastChain().add(topic, 1, toText).add(topic, 1, toText)).toThrow(invalid);
    expect(() => new UpcastChain().add(topic, 0, toText)).toThrow(invalid);
    expect(() => new UpcastChain().add("Not A Topic", 1, toText)).toThrow(
      expect.objectContaining({ code: "INVALID_TOPIC" }),
    );
  });
});

describe("an event brought to the newest version", () => {
  const options = { schemas: schemas(), upcasts };

  it("goes through every step from the version it was written in", () => {
    const old = event({ order: 7 }, 1);
    const normalized = normalizeEvent(old, options);
    expect(normalized).toEqual({
      ...old,
      payload: { order: "7", currency: "EUR" },
      headers: { "x-schema-version": "3" },
    });
    expect(old.payload).toEqual({ order: 7 });
    expect(Object.isFrozen(normalized)).toBe(true);
  });

  it("without a version counts as the oldest, or as it is told", () => {
    expect(normalizeEvent(event({ order: 7 }), options).payload).toEqual({ order: "7", currency: "EUR" });
    expect(normalizeEvent(event({ order: "7" }), { ...options, unversioned: 2 }).payload).toEqual({
      order: "7",
      currency: "EUR",
    });
  });

  it("stops at the version that is wanted", () => {
    expect(normalizeEvent(event({ order: 7 }, 1), { ...options, target: 2 })).toMatchObject({
      payload: { order: "7" },
      headers: { "x-schema-version": "2" },
    });
  });

  it("needs no step to a version that takes what the one before wrote", () => {
    const registry = new SchemaRegistry();
    const add = (
      version: number,
      compat: "backward" | "full" | "forward" | "none",
      schema: z.ZodObject,
    ): void => void registry.register({ topic, version, compat, schema });
    add(1, "backward", z.object({ order: z.number() }));
    add(2, "backward", z.object({ order: z.number(), note: z.string().optional() }));
    add(3, "none", z.object({ order: z.string(), note: z.string().optional() }));
    add(
      20_260_101,
      "full",
      z.object({ order: z.string(), note: z.string().optional(), tag: z.string().optional() }),
    );
    const steps = new UpcastChain().add(topic, 2, toText);
    const normalized = (payload: unknown, version: number, target?: number): unknown =>
      normalizeEvent(event(payload, version), {
        schemas: registry,
        upcasts: steps,
        ...(target !== undefined && { target }),
      });
    expect(normalized({ order: 7 }, 1)).toMatchObject({
      payload: { order: "7" },
      headers: { "x-schema-version": "20260101" },
    });
    expect(normalized({ order: 7 }, 1, 2)).toMatchObject({
      payload: { order: 7 },
      headers: { "x-schema-version": "2" },
    });
    expect(normalized({ order: "7" }, 3)).toMatchObject({ payload: { order: "7" } });

    add(20_270_101, "forward", z.object({ order: z.string(), note: z.string() }));
    expect(refusal(event({ order: "7" }, 3), { schemas: registry })).toMatchObject({
      code: "NOT_FOUND",
      details: { topic, from: 3, to: 20_270_101, missing: 20_260_101 },
    });
  });

  it("fails if a step is missing, if a step fails, or if the end does not fit", () => {
    expect(refusal(event({ order: 7 }, 1), {})).toMatchObject({ code: "NOT_FOUND" });
    const failing = new UpcastChain().add(topic, 2, () => {
      throw new Error("no rate for today");
    });
    expect(refusal(event({ order: "7" }, 2), { upcasts: failing })).toMatchObject({
      code: "SCHEMA_VIOLATION",
      message: 'the upcast of "orders.placed" from version 2 to 3 failed: no rate for today',
    });
    const wrong = new UpcastChain().add(topic, 2, () => ({ order: 7 }));
    expect(refusal(event({ order: "7" }, 2), { upcasts: wrong })).toMatchObject({
      code: "SCHEMA_VIOLATION",
      details: { version: 3 },
    });
    expect(refusal(event({ order: "7" }, "latest"), {})).toMatchObject({ code: "SCHEMA_VIOLATION" });
  });

  it("that is ahead of its reader is read as the reader's own version, if it fits", () => {
    const reader = new SchemaRegistry();
    reader.register({ topic, version: 2, schema: z.object({ order: z.string() }) });
    const ahead = event({ order: "7", currency: "EUR" }, 3);
    expect(normalizeEvent(ahead, { schemas: reader })).toMatchObject({
      payload: { order: "7" },
      headers: { "x-schema-version": "2" },
    });
    expect(() => normalizeEvent(event({ id: 7 }, 3), { schemas: reader })).toThrow(
      expect.objectContaining({ code: "SCHEMA_VIOLATION" }),
    );
  });

  it("stays as it is in a topic without a schema, and as a tombstone", () => {
    const other = event({ any: "thing" }, 1, "other.topic");
    expect(normalizeEvent(other, options)).toBe(other);
    const tombstone = event(null, 1);
    expect(normalizeEvent(tombstone, options)).toBe(tombstone);
  });

  it("in a topic of one version has that version", () => {
    // The step that it does not need is not there.
    const fromTwo = { ...options, upcasts: new UpcastChain().add(topic, 2, inEuro) };
    expect(normalizeEvent(event({ order: "7" }, undefined, `${topic}.v2`), fromTwo).payload).toEqual({
      order: "7",
      currency: "EUR",
    });
  });

  it("is brought up to date inside a dead letter", () => {
    const letter = event(
      { origin: { topic }, attempts: 5, event: event({ order: 7 }, 1) },
      undefined,
      `dlq.${topic}`,
    );
    expect(normalizeEvent(letter, options)).toMatchObject({
      topic: `dlq.${topic}`,
      payload: { attempts: 5, event: { payload: { order: "7", currency: "EUR" } } },
    });
    const odd = event("not a letter", undefined, `dlq.${topic}`);
    expect(normalizeEvent(odd, options)).toBe(odd);
  });
});
