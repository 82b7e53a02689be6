import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPlaced } from "./placed-bytes.js";

/** What is called back with, or null. */
function read(text: string): unknown {
  let said: unknown = null;
  const isRead = readPlaced(Buffer.from(text), (corr, partition, seq) => {
    said = { corr, partition, seq };
  });
  expect(isRead).toBe(said !== null);
  return said;
}

const placed = (more = "", corrs = "[7]"): string =>
  `{"type":"PLACED","topic":"t.a","partition":3,"seq":1200${more},"corrs":${corrs}}`;

describe("an answer to a lone publish", () => {
  it("says where its event stands", () => {
    expect(read(placed())).toEqual({ corr: 7, partition: 3, seq: 1_200 });
  });

  it.each([
    ...[
      "",
      "{}",
      "[]",
      `[${placed()}]`,
      `${placed()} `,
      placed("", "[7,8]"),
      placed("", "[]"),
      placed("", "[7.5]"),
    ],
    ...[
      placed("", "[-7]"),
      placed("", "[07]"),
      placed("0".repeat(15)),
      placed(',"x":1'),
      placed().slice(0, -1),
    ],
    ...[placed().replace("t.a", 't\\".a'), placed().replace("PLACED", "PLACE"), placed().slice(0, 40)],
  ])("is left to be parsed if it is anything else: %s", (text) => {
    expect(read(text)).toBeNull();
  });

  it("says what JSON.parse says of it", () => {
    const number = fc.oneof(fc.nat(), fc.maxSafeInteger(), fc.constantFrom(0, 1, 10));
    const frame = fc.record({
      type: fc.constant("PLACED"),
      topic: fc.oneof(fc.constant("t.a"), fc.string()),
      partition: number,
      seq: number,
      corrs: fc.tuple(number),
    });
    let count = 0;
    fc.assert(
      fc.property(frame, (given) => {
        const said = read(JSON.stringify(given));
        if (said === null) return;
        count++;
        expect(said).toEqual({ corr: given.corrs[0], partition: given.partition, seq: given.seq });
      }),
      { numRuns: 300 },
    );
    expect(count).toBeGreaterThan(30);
  });
});
