import { describe, expect, it } from "vitest";
import { clipText, fitText, printableText, textWidth } from "./text-width.js";

describe("text in a terminal", () => {
  it.each([
    ["node", 4],
    ["café", 4],
    ["cafe\u0301", 4],
    ["日本語", 6],
    ["한글", 4],
    ["🚀", 2],
    ["", 0],
  ])("knows the width of %s", (text, width) => {
    expect(textWidth(text)).toBe(width);
  });

  it.each([
    ["\x1b[2J\x1b[Hgone", "·[2J·[Hgone"],
    ["a\nb\r\tc", "a·b··c"],
    ["left\u202eright", "left·right"],
    ["plain (1)", "plain (1)"],
  ])("lets nothing in %j move the cursor", (text, shown) => {
    expect(printableText(text)).toBe(shown);
  });

  it("cuts with an ellipsis and never in the middle of a wide character", () => {
    expect(clipText("process", 7)).toBe("process");
    expect(clipText("process", 4)).toBe("pro…");
    expect(clipText("日本語", 4)).toBe("日…");
    expect(clipText("process", 0)).toBe("");
  });

  it("fills to the width, on either side", () => {
    expect(fitText("pid", 5)).toBe("pid  ");
    expect(fitText("pid", 5, "right")).toBe("  pid");
    expect(fitText("日本語", 5)).toBe("日本…");
    expect(fitText("日本語", 4)).toBe("日… ");
  });
});
