import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import {
  gather,
  gatherPairs,
  parseJson,
  place,
  placeText,
  positiveSpan,
  readText,
  span,
  time,
  wholeNumber,
} from "./arguments.js";

describe("arguments as people write them", () => {
  it.each([
    ["earliest", "earliest"],
    ["latest", "latest"],
    ["id:abc", { id: "abc" }],
    ["seq:12", { seq: 12 }],
    ["2024-05-01T12:00:00Z", { ts: 1_714_564_800_000 }],
    ["1714564800000", { ts: 1_714_564_800_000 }],
  ])("%s is a place", (text, expected) => {
    expect(place(text)).toEqual(expected);
  });

  it("counts a span back from now", () => {
    vi.spyOn(Date, "now").mockReturnValue(10_000_000);
    expect(place("-15m")).toEqual({ ts: 9_100_000 });
    expect(time("-90s")).toBe(9_910_000);
    expect(time("-999d")).toBe(0);
  });

  it.each(["", "yesterday", "seq:x", "-15", "12"])("%j is no place", (text) => {
    expect(() => place(text)).toThrow("earliest");
  });

  it("writes a place as it stands in a URL", () => {
    expect(["earliest", "id:a", "seq:3", "1714564800000"].map((text) => placeText(place(text)))).toEqual([
      "earliest",
      "id:a",
      "seq:3",
      "1714564800000",
    ]);
  });

  it("takes whole numbers of a range, and spans", () => {
    expect(wholeNumber(1, 10)("10")).toBe(10);
    for (const text of ["0", "11", "1.5", "-1", "", "x"])
      expect(() => wholeNumber(1, 10)(text)).toThrow("1 to 10");
    expect([span("90s"), span("2h"), span("7d")]).toEqual([90_000, 7_200_000, 604_800_000]);
    expect(() => span("1w")).toThrow("span");
    expect(() => positiveSpan("0s")).toThrow("above 0");
    expect(positiveSpan("1s")).toBe(1_000);
  });

  it("gathers what is given several times", () => {
    expect(gather("b", gather("a"))).toEqual(["a", "b"]);
    expect(gatherPairs("b=2=3", gatherPairs("a=1"))).toEqual({ a: "1", b: "2=3" });
    expect(() => gatherPairs("=1")).toThrow("name=value");
  });

  it("reads a file as text, whether or not its editor began it with a byte order mark", async () => {
    const folder = await mkdtemp(join(tmpdir(), "promethean-text-"));
    const file = join(folder, "schema.json");
    for (const mark of ["", "\ufeff"]) {
      await writeFile(file, `${mark}{"type":"string","title":"é"}`);
      expect(parseJson(await readText(file), file)).toEqual({ type: "string", title: "é" });
    }
    await rm(folder, { recursive: true });
  });

  it("says what is not JSON", () => {
    expect(parseJson("null", "it")).toBeNull();
    expect(() => parseJson("{", "the payload")).toThrow("the payload is not JSON");
  });
});
