import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonBody } from "../../model/json.js";
import { Payloads } from "./payloads.js";

const GUARD = 0xee;

/** Bodies as a store has them: one behind the other in the same bytes, `between` other bytes before each. */
function inOneSource(pieces: readonly { readonly json: string; readonly between: number }[]): JsonBody[] {
  const parts = pieces.flatMap(({ json, between }) => [Buffer.alloc(between, '"'), Buffer.from(json)]);
  const source = Buffer.concat(parts);
  let at = 0;
  return pieces.map(({ json, between }) => {
    const from = at + between;
    at = from + Buffer.byteLength(json);
    return JsonBody.ofSlice(source, from, at);
  });
}

function written(bodies: readonly JsonBody[]): string {
  const payloads = new Payloads();
  for (const body of bodies) payloads.add(body);
  const buffer = Buffer.alloc(payloads.mostBytes + 3, GUARD);
  const end = payloads.writeTo(buffer, 2);
  const around = [buffer[0], buffer[1], buffer[payloads.mostBytes + 2]];
  expect(around).toEqual([GUARD, GUARD, GUARD]);
  return buffer.toString("utf8", 2, end);
}

const someJson = fc.oneof(fc.json({ maxDepth: 1 }), fc.constantFrom("1", '"ä€😀"', `"${"x".repeat(400)}"`));
const someBetween = fc.constantFrom(0, 1, 13, 40, 255, 256, 257, 1_000);
const stretch = fc
  .array(fc.record({ json: someJson, between: someBetween }), { minLength: 1, maxLength: 8 })
  .map(inOneSource);
const alone = someJson.chain((json) =>
  fc.constantFrom([JsonBody.ofText(json)], [JsonBody.ofBytes(Buffer.from(json))]),
);

describe("payloads of a frame", () => {
  it("P1: are written as they were stored, with commas between them and nothing else, within their bounds", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(stretch, alone), { maxLength: 6 }), (groups) => {
        const bodies = groups.flat();
        const texts = bodies.map((body) => body.text);
        expect(written(bodies)).toBe(texts.join(","));
      }),
    );
  });

  it("P1: may come in another order than they stand in, come again, or leave some out", () => {
    const [a, b, c, d] = inOneSource(
      ["[1]", '"two"', "3", '{"d":4}'].map((json) => ({ json, between: 20 })),
    ) as [JsonBody, JsonBody, JsonBody, JsonBody];
    expect(written([b, a, c])).toBe('"two",[1],3');
    expect(written([a, a, b])).toBe('[1],[1],"two"');
    expect(written([a, c, d])).toBe('[1],3,{"d":4}');
  });

  it("leave what is stored as it is", () => {
    const bodies = inOneSource(["1", "2", "3"].map((json) => ({ json, between: 13 })));
    const before = Buffer.from(bodies[0]?.source as Uint8Array);
    written(bodies);
    expect(bodies[0]?.source).toEqual(before);
    expect(bodies.map((body) => body.text)).toEqual(["1", "2", "3"]);
  });
});
