import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BusError } from "./errors.js";
import { boundedBody, canonicalText, freezeJson, JsonBody, jsonBody } from "./json.js";

const LIMITS = { maxPayloadBytes: 1_000_000, maxPayloadDepth: 64 };

const body = (value: unknown): JsonBody => jsonBody(value, LIMITS);

function refusal(value: unknown, limits = LIMITS): BusError {
  try {
    jsonBody(value, limits);
  } catch (error) {
    if (error instanceof BusError) return error;
    throw error;
  }
  throw new Error("the value was to be refused");
}

function isDeepFrozen(value: unknown): boolean {
  if (value === null || typeof value !== "object") return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeepFrozen);
}

describe("jsonBody", () => {
  it("keeps any JSON value, as JSON itself would", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(body(value).text).toBe(JSON.stringify(JSON.parse(text)));
        expect(canonicalText(body(value).value)).toBe(canonicalText(JSON.parse(text)));
      }),
    );
  });

  it("gives a copy that is frozen all the way down, and apart from the original", () => {
    const original = { list: [{ n: 1 }], at: { deep: { er: [1] } } };
    const copy = body(original).value as typeof original;
    expect(isDeepFrozen(copy)).toBe(true);
    original.list.push({ n: 2 });
    original.at.deep.er[0] = 9;
    expect(copy).toEqual({ list: [{ n: 1 }], at: { deep: { er: [1] } } });
    expect(() => copy.list.push({ n: 3 })).toThrow(TypeError);
    expect(Object.isFrozen(original)).toBe(false);
  });

  it.each([
    ["undefined", undefined],
    ["NaN", Number.NaN],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["a bigint", 1n],
    ["a symbol", Symbol("s")],
    ["a function", () => 1],
    ["a Map", new Map([["a", 1]])],
    ["a Set", new Set([1])],
    ["a typed array", new Uint8Array(2)],
    ["an ArrayBuffer", new ArrayBuffer(2)],
    ["an Error", new Error("x")],
    ["a Promise", Promise.resolve()],
    ["a RegExp", /x/],
    ["a boxed number", Object(1)],
    ["a boxed string", Object("abc")],
    ["a WeakMap", new WeakMap()],
  ])("refuses what JSON would lose in silence, and says where: %s", (_, value) => {
    expect(refusal(value)).toMatchObject({ code: "INVALID_PAYLOAD", details: { path: [] } });
    if (value === undefined) return;
    const nested = refusal({ items: [1, { bad: value }] });
    expect(nested.code).toBe("INVALID_PAYLOAD");
    expect(nested.message).toMatch(/^payload\.items\[1\]\.bad: /);
    expect(nested.details).toEqual({ path: ["items", 1, "bad"] });
  });

  it("drops undefined members and turns undefined elements into null, as JSON does", () => {
    const sparse = [1];
    sparse[2] = 3;
    expect(body({ a: undefined, b: [undefined, 1], sparse }).value).toEqual({
      b: [null, 1],
      sparse: [1, null, 3],
    });
    expect(Object.keys(body({ a: undefined }).value as object)).toEqual([]);
  });

  it("writes minus zero as zero", () => {
    expect(Object.is(body(-0).value, 0)).toBe(true);
    expect(body([-0]).text).toBe("[0]");
  });

  it("keeps a member called __proto__ as data, and pollutes nothing", () => {
    const value = body(JSON.parse('{"__proto__":{"admin":true},"constructor":{"prototype":1}}'))
      .value as object;
    expect(Object.keys(value)).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
    expect(body(value).text).toBe('{"__proto__":{"admin":true},"constructor":{"prototype":1}}');
  });

  it("takes objects without a prototype, and own members only", () => {
    const bare = Object.assign(Object.create(null), { a: 1 });
    const inherited = Object.create({ no: 1 }, { yes: { value: 2, enumerable: true } });
    expect(body(bare).text).toBe('{"a":1}');
    expect(body(inherited).text).toBe('{"yes":2}');
  });

  it("takes own members only, also when somebody gave all objects of the process one more", () => {
    const everywhere = Object.prototype as { extra?: unknown };
    everywhere.extra = { n: 1 };
    try {
      expect(Object.keys(body({ a: [{}] }).value as object)).toEqual(["a"]);
      expect(Object.keys((body([{}]).value as object[])[0] ?? [])).toEqual([]);
    } finally {
      delete everywhere.extra;
    }
  });

  it("counts the same size for plain data as for data with a closer look", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const date = new Date(0);
        const apart = body({ value }).size + body({ date: date.toJSON() }).size - 2;
        expect(body({ value, date }).size).toBe(apart);
      }),
    );
  });

  it("asks toJSON, once, with the member's name", () => {
    const asked: string[] = [];
    const custom = { toJSON: (name: string) => asked.push(name) };
    expect(body({ when: new Date(0), at: [custom], of: custom }).value).toEqual({
      when: "1970-01-01T00:00:00.000Z",
      at: [1],
      of: 2,
    });
    expect(asked).toEqual(["0", "of"]);
  });

  it("is not disturbed by another copy that a getter makes in the middle", () => {
    const inner = { text: "x".repeat(100), nested: [[1]] };
    const withGetter = {
      before: "a",
      get inner() {
        return body(inner).value;
      },
      after: [[[[2]]]],
    };
    const plain = { before: "a", inner, after: [[[[2]]]] };
    const [copy, expected] = [body(withGetter), body(plain)];
    expect([copy.value, copy.size]).toEqual([plain, expected.size]);
  });

  it("refuses a toJSON that throws or gives nothing, and a getter that throws", () => {
    const throwing = {
      toJSON: () => {
        throw new Error("secret");
      },
    };
    const getter = {
      get bad(): number {
        throw new Error("no");
      },
    };
    expect(refusal({ a: throwing }).message).toBe("payload.a: its toJSON() throws");
    expect(refusal({ a: { toJSON: () => undefined } }).code).toBe("INVALID_PAYLOAD");
    expect(refusal({ a: new Date(Number.NaN), b: getter })).toMatchObject({
      code: "INVALID_PAYLOAD",
      details: { path: ["b", "bad"] },
    });
  });

  it("refuses what contains itself, directly or not, and says so", () => {
    const self: Record<string, unknown> = {};
    self.me = self;
    const pair: unknown[] = [{ other: [] }];
    (pair[0] as { other: unknown[] }).other.push(pair);
    for (const value of [self, pair, { deep: [self] }]) {
      const error = refusal(value);
      expect([error.code, error.message]).toEqual([
        "INVALID_PAYLOAD",
        expect.stringContaining("contains itself"),
      ]);
    }
    expect(refusal(self).message).toBe("payload.me: it contains itself");
    expect(refusal(pair).message).toBe("payload[0].other[0]: it contains itself");
    expect(refusal({ deep: [self] }).message).toBe("payload.deep[0].me: it contains itself");
    const forever = { toJSON: (): unknown => forever };
    expect(refusal(forever).code).toBe("INVALID_PAYLOAD");
  });

  it("takes one object in two places", () => {
    const shared = { n: 1 };
    expect(body([shared, shared]).text).toBe('[{"n":1},{"n":1}]');
  });

  it("names a deep place by where it begins", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100; i++) deep = { in: deep };
    expect(refusal(deep).message).toMatch(/^payload(\.in){8}…: it is nested deeper than \d+ levels$/);
  });

  it("refuses deeper nesting than allowed, at exactly that depth", () => {
    const nest = (levels: number): unknown => (levels === 0 ? 1 : [nest(levels - 1)]);
    expect(jsonBody(nest(5), { ...LIMITS, maxPayloadDepth: 5 }).text).toBe("[[[[[1]]]]]");
    const error = refusal(nest(6), { ...LIMITS, maxPayloadDepth: 5 });
    expect([error.code, error.message]).toEqual([
      "INVALID_PAYLOAD",
      expect.stringContaining("nested deeper than 5 levels"),
    ]);
  });

  it("P13: counts the bytes of the JSON text, escapes and UTF-8 included", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const bytes = Buffer.byteLength(JSON.stringify(JSON.parse(JSON.stringify(value))));
        expect(jsonBody(value, { ...LIMITS, maxPayloadBytes: bytes }).size).toBeGreaterThan(0);
        const error = refusal(value, { ...LIMITS, maxPayloadBytes: bytes - 1 });
        expect([error.code, error.details]).toEqual(["PAYLOAD_TOO_LARGE", { bytes, maxBytes: bytes - 1 }]);
      }),
    );
    for (const text of ["\u0000".repeat(10), "🙂".repeat(10), '"'.repeat(10), "\ud83d"]) {
      const bytes = Buffer.byteLength(JSON.stringify(text));
      expect(jsonBody(text, { ...LIMITS, maxPayloadBytes: bytes }).value).toBe(text);
      expect(refusal(text, { ...LIMITS, maxPayloadBytes: bytes - 1 }).code).toBe("PAYLOAD_TOO_LARGE");
    }
  });
});

describe("JsonBody", () => {
  it("is the same document in whichever form it came", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        for (const form of [
          JsonBody.ofText(text),
          JsonBody.ofBytes(Buffer.from(text, "utf8")),
          JsonBody.ofSlice(Buffer.from(`xü${text}yy`, "utf8"), 3, 3 + Buffer.byteLength(text)),
          body(JSON.parse(text)),
        ]) {
          expect(canonicalText(form.value)).toBe(canonicalText(JSON.parse(text)));
          expect(JSON.parse(form.text)).toEqual(JSON.parse(text));
          expect(Buffer.from(form.bytes).toString("utf8")).toBe(form.text);
          expect(isDeepFrozen(form.value)).toBe(true);
          expect(form.equals(JsonBody.ofText(text))).toBe(true);
        }
      }),
    );
  });

  it("makes each form once", () => {
    for (const form of [
      JsonBody.ofText('{"a":[1]}'),
      body({ a: [1] }),
      JsonBody.ofBytes(Buffer.from("null")),
    ]) {
      expect(form.value).toBe(form.value);
      expect(form.bytes).toBe(form.bytes);
      expect(form.text).toBe(form.text);
    }
  });

  it("reads bytes in the middle of a larger buffer", () => {
    const whole = Buffer.from('xx{"ü":"🙂"}yy', "utf8");
    const part = new Uint8Array(whole.buffer, whole.byteOffset + 2, whole.length - 4);
    expect(JsonBody.ofBytes(part).value).toEqual({ ü: "🙂" });
    const slice = JsonBody.ofSlice(whole, 2, whole.length - 2);
    expect(slice.size).toBe(whole.length - 4);
    expect(slice.text).toBe('{"ü":"🙂"}');
    expect(slice.bytes).toEqual(whole.subarray(2, -2));
  });

  it("keeps bytes that somebody made of it, beside its value", () => {
    const made = body(["é"]);
    made.keepBytes(Buffer.from('xx["é"]yy'), 2, 8);
    expect(made.valueAlone).toBeUndefined();
    expect(made.size).toBe(6);
    expect(made.text).toBe('["é"]');
    expect(made.value).toEqual(["é"]);
    expect(Buffer.from(made.bytes).toString()).toBe('["é"]');
  });

  it("P3: equal means the same value, whatever the order of members or the spelling", () => {
    const one = JsonBody.ofText('{"a":1,"b":{"c":[1,2],"d":null}}');
    expect(one.equals(JsonBody.ofText('{ "b": {"d":null,"c":[1.0,2e0]}, "a": 1 }'))).toBe(true);
    for (const other of [
      '{"a":1,"b":{"c":[2,1],"d":null}}',
      '{"a":1,"b":{"c":[1,2]}}',
      '{"a":"1","b":{"c":[1,2],"d":null}}',
      '{"a":1,"b":{"c":[1,2],"d":null},"e":1}',
    ]) {
      expect(one.equals(JsonBody.ofText(other))).toBe(false);
    }
    expect(body(null).equals(body(null))).toBe(true);
    expect(body(null).equals(body("null"))).toBe(false);
    expect(body([]).equals(body({}))).toBe(false);
  });

  it("P3: canonical text does not mix up names that hold quotes or look alike", () => {
    expect(canonicalText({ 'a":1,"b': 2 })).not.toBe(canonicalText({ a: 1, b: 2 }));
    expect(canonicalText(JSON.parse('{"__proto__":1}'))).toBe('{"__proto__":1}');
  });

  it("freezeJson freezes in place and gives back what it was given", () => {
    const value = { a: [{ b: 1 }] };
    expect(freezeJson(value)).toBe(value);
    expect(isDeepFrozen(value)).toBe(true);
    expect(freezeJson("x")).toBe("x");
  });
});

describe("a body that a log has, within bounds", () => {
  const limits = { maxPayloadBytes: 60, maxPayloadDepth: 2 };
  const forms = (text: string): JsonBody[] => {
    const padded = Buffer.from(`xx${text}yy`);
    return [
      JsonBody.ofText(text),
      JsonBody.ofBytes(Buffer.from(text)),
      JsonBody.ofSlice(padded, 2, padded.length - 2),
    ];
  };

  it.each(['{"a":[1,2]}', "1.0", '[{},{},{"b":"[[[{{{"}]', '["\\"[[[","\\\\",[]]', '["ä",["é"]]'])(
    "stays as it is: %s",
    (text) => {
      for (const body of forms(text)) {
        const bounded = boundedBody(body, limits);
        expect(bounded.text).toBe(text);
        expect(bounded.source?.length).toBe(body.source === undefined ? undefined : Buffer.byteLength(text));
      }
    },
  );

  it.each([
    ['[[["a"]]]', "INVALID_PAYLOAD"],
    ['{"a":{"b":{}}}', "INVALID_PAYLOAD"],
    ['["\\\\",[[]]]', "INVALID_PAYLOAD"],
    [`"${"ä".repeat(40)}"`, "PAYLOAD_TOO_LARGE"],
  ])("is refused: %s", (text, code) => {
    for (const body of forms(text))
      expect(() => boundedBody(body, limits)).toThrow(expect.objectContaining({ code }));
  });
});
