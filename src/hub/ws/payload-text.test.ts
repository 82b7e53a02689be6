import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PayloadTexts } from "./payload-text.js";

/** The texts found for the objects of a body. */
function textsIn(body: string): (string | undefined)[] {
  const texts = new PayloadTexts(Buffer.from(body));
  const parsed = JSON.parse(body) as { payload?: unknown } | { payload?: unknown }[];
  return [parsed].flat().map((event) => texts.next(event.payload));
}

describe("the texts of payloads in a body", () => {
  it.each([
    ["an object", '{"topic":"t","payload":{"a":[1,{"b":"c"}]},"key":"k"}', '{"a":[1,{"b":"c"}]}'],
    ["a string", '{"payload":"a \\" ] } b \\\\"}', '"a \\" ] } b \\\\"'],
    ["a number", '{"payload":-1.50e+2}', "-1.50e+2"],
    ["null, last", '{"topic":"t","payload":null}', "null"],
    ["letters of more than a byte", '{"key":"ü","payload":["€","\\ud83d\\ude00"]}', '["€","\\ud83d\\ude00"]'],
    ["the last of two", '{"payload":1,"payload":2}', "2"],
    ["one beside a payload further in", '{"headers":{"payload":1},"payload":2}', "2"],
    ["__proto__ as data", '{"payload":{"__proto__":{"x":1}}}', '{"__proto__":{"x":1}}'],
  ])("are kept as they came: %s", (_, body, text) => {
    expect(textsIn(body)).toEqual([text]);
  });

  it.each([
    ["space between members", '{"topic": "t","payload":1}'],
    ["space in the payload", '{"payload":{"a": 1}}'],
    ["a line break at the start", '\n{"payload":1}'],
    ["a member twice", '{"payload":{"a":1,"a":2}}'],
    ["a member twice, once in escapes", '{"payload":{"a":1,"\\u0061":2}}'],
    ["a payload in escapes", '{"payload":1,"p\\u0061yload":2}'],
    ["a number that is too large", '{"payload":[1e999]}'],
    ["minus zero", '{"payload":{"a":-0}}'],
    ["nesting that is deep", `{"payload":${"[".repeat(40)}${"]".repeat(40)}}`],
    ["no payload", '{"topic":"t"}'],
    ["nothing at all", "{}"],
  ])("are left to be made: %s", (_, body) => {
    expect(textsIn(body)).toEqual([undefined]);
  });

  it("of several objects are found one after the other, up to one that is spaced", () => {
    expect(textsIn('[{"payload":1},{"payload":[2]},{"payload":"3"}]')).toEqual(["1", "[2]", '"3"']);
    expect(textsIn('[{"payload":1},{"payload":{"a":1,"a":1}},{"payload":3}]')).toEqual(["1", undefined, "3"]);
    expect(textsIn('[{"payload":1}, {"payload":2},{"payload":3}]')).toEqual(["1", undefined, undefined]);
  });

  it("say the same as the payloads, whatever is sent and however it is spaced", () => {
    const event = fc.record(
      { topic: fc.string(), payload: fc.jsonValue({ maxDepth: 6 }), key: fc.string(), corr: fc.nat() },
      { requiredKeys: ["payload"] },
    );
    fc.assert(
      fc.property(fc.array(event, { minLength: 1 }), fc.constantFrom("", " "), (events, space) => {
        const body = JSON.stringify(events, null, space);
        textsIn(body).forEach((text, i) => {
          const payload: unknown = (JSON.parse(body) as { payload: unknown }[])[i]?.payload;
          if (space === "") expect(text).toBe(JSON.stringify(payload));
          else expect(text).toBeUndefined();
        });
      }),
      { numRuns: 300 },
    );
  });
});
