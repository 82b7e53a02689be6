/** docs/limits-and-errors.md lists every limit with its default, and every error code with whether it may be repeated. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { DEFAULT_HUB_LIMITS } from "../../src/hub/limits.js";
import { BusError, type ErrorCode } from "../../src/model/errors.js";
import { DEFAULT_LIMITS } from "../../src/model/limits.js";

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");
const page = read("docs/limits-and-errors.md");
/** The cells of each row that begins with a name in code. */
const rows = [...page.matchAll(/^\| `(\w+)` \| (.+) \|$/gm)].map(([, name = "", rest = ""]) => [
  name,
  ...rest.split(" | "),
]);

describe("the page of limits and errors", () => {
  it("has every limit of a bus and of a hub, with its default", () => {
    const told = rows.filter(([name]) => /^[a-z]/.test(name ?? "")).map(([name, value]) => [name, value]);
    const limits = Object.entries({ ...DEFAULT_LIMITS, ...DEFAULT_HUB_LIMITS });
    expect(new Map(told as [string, string][])).toEqual(
      new Map(limits.map(([name, value]) => [name, value.toLocaleString("en-US")])),
    );
  });

  it("has every error code, and says whether the same call may succeed later", () => {
    const union = /export type ErrorCode =([^;]+);/.exec(read("src/model/errors.ts"))?.[1] ?? "";
    const codes = [...union.matchAll(/"(\w+)"/g)].map(([, code]) => code as ErrorCode);
    expect(codes.length).toBeGreaterThan(20);
    const told = rows.filter(([name]) => /^[A-Z]/.test(name ?? ""));
    const again = told.map(([code, , answer = ""]) => [code, answer.startsWith("yes")]);
    expect(again).toEqual(codes.map((code) => [code, new BusError(code, "").retryable]));
  });
});
