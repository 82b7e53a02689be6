import { describe, expect, it } from "vitest";
import { progressLine } from "./progress.js";
import { textWidth } from "./text-width.js";

const half = { title: "import", done: 50_000_000, total: 100_000_000, seconds: 2 };

describe("a line of progress", () => {
  it("counts events, or bytes with their unit; of a share it tells no rate", () => {
    const bar = `${"█".repeat(12)}${"░".repeat(12)} 50 %`;
    expect(progressLine({ ...half, unit: "bytes" }, 80)).toBe(`import  ${bar}  25.0 MB/s`);
    expect(progressLine({ ...half, unit: "events" }, 80)).toBe(`import  ${bar}  25,000,000/s`);
    expect(progressLine({ ...half, unit: "share" }, 80)).toBe(`import  ${bar}`);
    expect(progressLine({ ...half, total: undefined, unit: "bytes" }, 80)).toBe("import  50.0 MB  25.0 MB/s");
  });

  it("tells no rate before there is one", () => {
    expect(progressLine({ ...half, seconds: 0.1, unit: "bytes" }, 80)).not.toContain("/s");
  });

  it.each([20, 40, 60, 80])("stays within a terminal of %d columns, whatever is copied", (columns) => {
    const line = progressLine({ ...half, title: `export ${"漢".repeat(100)}`, unit: "bytes" }, columns);
    expect(textWidth(line)).toBeLessThan(columns);
    if (columns >= 60) expect(line).toContain("50 %  25.0 MB/s");
  });
});
