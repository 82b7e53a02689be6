import { describe, expect, it } from "vitest";
import { BusError, describeThrown, type ErrorCode, Fatal } from "./errors.js";

describe("BusError", () => {
  it("carries a code, a message, a cause and facts", () => {
    const cause = new Error("inner");
    const error = new BusError("ID_CONFLICT", "twice", { cause, details: { id: "x" } });
    expect(error).toBeInstanceOf(Error);
    expect([error.name, error.code, error.message, error.cause, error.details]).toEqual([
      "BusError",
      "ID_CONFLICT",
      "twice",
      cause,
      { id: "x" },
    ]);
    expect("cause" in new BusError("INTERNAL", "none")).toBe(false);
  });

  it("says whether the same call may succeed later, by its code unless told otherwise", () => {
    const retryable = (code: ErrorCode): boolean => new BusError(code, "x").retryable;
    expect(
      ["QUEUE_FULL", "OUTCOME_UNKNOWN", "STORE_UNAVAILABLE", "WRITE_CONFLICT"].map((c) =>
        retryable(c as ErrorCode),
      ),
    ).toEqual([true, true, true, true]);
    expect(
      ["LEASE_LOST", "ID_CONFLICT", "INVALID_PAYLOAD", "CLOSED"].map((c) => retryable(c as ErrorCode)),
    ).toEqual([false, false, false, false]);
    expect(new BusError("CLOSED", "x", { retryable: true }).retryable).toBe(true);
    expect(new BusError("QUEUE_FULL", "x", { retryable: false }).retryable).toBe(false);
  });

  it("is told by code", () => {
    const error: unknown = new BusError("LEASE_LOST", "x");
    expect([BusError.is(error), BusError.is(error, "LEASE_LOST"), BusError.is(error, "CLOSED")]).toEqual([
      true,
      true,
      false,
    ]);
    expect([BusError.is(new Error("x")), BusError.is(undefined), BusError.is({ code: "CLOSED" })]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it("is made of anything that was thrown, and of itself is itself", () => {
    const original = new BusError("CLOSED", "x");
    expect(BusError.from(original)).toBe(original);
    const foreign = new TypeError("no");
    expect(BusError.from(foreign)).toMatchObject({ code: "INTERNAL", message: "no", cause: foreign });
    expect(BusError.from("text", "HANDLER_FAILED")).toMatchObject({
      code: "HANDLER_FAILED",
      message: "text",
    });
    expect(BusError.from(undefined)).toMatchObject({ code: "INTERNAL", message: "undefined" });
  });

  it("Fatal is a BusError that is never retried", () => {
    const fatal = new Fatal("bad event", { details: { n: 1 } });
    expect(fatal).toBeInstanceOf(BusError);
    expect([fatal.name, fatal.code, fatal.retryable, fatal.details]).toEqual([
      "Fatal",
      "HANDLER_FAILED",
      false,
      { n: 1 },
    ]);
  });
});

describe("describeThrown", () => {
  const circular: Record<string, unknown> = {};
  circular.me = circular;
  const bare: Record<string, unknown> = Object.create(null);
  bare.me = bare;
  const hostile = {
    toJSON: (): never => {
      throw new Error("no");
    },
    toString: (): never => {
      throw new Error("no");
    },
  };
  const unreadable = Object.defineProperty(new Error("x"), "message", {
    get: (): never => {
      throw new Error("no");
    },
  });

  it.each([
    ["an error", new Error("it broke"), "it broke"],
    ["an error without a message", Object.assign(new TypeError("x"), { message: "" }), "TypeError"],
    ["an error whose message is no text", Object.assign(new Error("x"), { message: 42 }), "42"],
    ["text", "it broke", "it broke"],
    ["empty text", "", "an empty string was thrown"],
    ["undefined", undefined, "undefined"],
    ["null", null, "null"],
    ["a number", 42, "42"],
    ["NaN", Number.NaN, "NaN"],
    ["a bigint", 10n, "10"],
    ["a symbol", Symbol("s"), "Symbol(s)"],
    ["an object", { code: 7 }, '{"code":7}'],
    ["something circular", circular, "[object Object]"],
    ["something circular without a prototype", bare, "something that cannot be described was thrown"],
    ["something hostile", hostile, "something that cannot be described was thrown"],
    ["an error that cannot be read", unreadable, "something that cannot be described was thrown"],
    ["a function", Math.max, "function max() { [native code] }"],
  ])("has a line for %s", (_, thrown, expected) => {
    expect(describeThrown(thrown)).toBe(expected);
  });

  it("is one line, of bounded length, without a stack", () => {
    const long = describeThrown(new Error("x".repeat(10_000)));
    expect([long.length, long.at(-1)]).toEqual([500, "…"]);
    expect(describeThrown("y".repeat(500))).toBe("y".repeat(500));
    expect(describeThrown(new Error("first\n  at second\r\nthird"))).toBe("first at second third");
    expect(describeThrown(" ".repeat(1_000_000))).toHaveLength(500);
    const error = new Error("plain");
    expect(describeThrown(error)).not.toContain("errors.test");
  });
});
