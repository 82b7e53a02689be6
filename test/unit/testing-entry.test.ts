/** `promethean/testing` runs under any test runner: nothing that it loads needs vitest, which is optional. */
import { describe, expect, it } from "vitest";
import { loadedBy } from "../support/loaded-by.js";

describe("promethean/testing", () => {
  const entry = (path: string): Set<string> =>
    loadedBy(new URL(`../../src/testing/${path}`, import.meta.url));

  it("loads no vitest", () => {
    const loaded = entry("index.ts");
    expect(loaded.size).toBeGreaterThan(20);
    expect(loaded).not.toContain("vitest");
  });

  it("leaves that to the conformance suite, which has an entry of its own", () => {
    expect(entry("conformance/index.ts")).toContain("vitest");
  });
});
