import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSplitter, type NdjsonLine } from "./ndjson.js";

function split(chunks: readonly Buffer[], maxBytes = 1_000): NdjsonLine[] {
  const splitter = new LineSplitter(maxBytes);
  const lines: NdjsonLine[] = [];
  for (const chunk of chunks) lines.push(...splitter.push(chunk));
  return [...lines, ...splitter.end()];
}

/** The same bytes, cut at these places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((p) => p % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...at, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : at[i - 1], end));
}

describe("NDJSON lines", () => {
  it("are the same however the bytes are cut, in the middle of a character too", () => {
    const line = fc.string({ unit: "binary", maxLength: 8 }).map((text) => text.replace(/[\r\n]/g, " "));
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 8 }),
        fc.array(fc.nat(400), { maxLength: 8 }),
        (texts, places) => {
          const whole = Buffer.from(texts.join("\n"));
          const expected = texts.flatMap((text, i) => (text.trim() === "" ? [] : [{ number: i + 1, text }]));
          const lines = split(cut(whole, places), 100_000);
          if (texts[0]?.startsWith("\ufeff")) return;
          expect(lines).toEqual(expected);
        },
      ),
    );
  });

  it("pass over blank ones but count them; a mark at the very beginning is no part of the text", () => {
    expect(split([Buffer.from("\ufeff1\r\n\r\n  \n2\n")])).toEqual([
      { number: 1, text: "1\r" },
      { number: 4, text: "2" },
    ]);
  });

  it("are refused when too long, as soon as that is known, with their number", () => {
    const splitter = new LineSplitter(10);
    const push = (text: string): NdjsonLine[] => [...splitter.push(Buffer.from(text))];
    expect(push("0123456789\n01234")).toHaveLength(1);
    expect(() => push("56789x")).toThrow(/^line 2: it has more than 10 bytes/);
  });

  it("are refused when they are not UTF-8", () => {
    expect(() => split([Buffer.from([0x31, 0x0a, 0xff, 0x0a])])).toThrow(/^line 2: it is not UTF-8/);
  });
});
