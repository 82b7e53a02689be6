/** `promethean/testing` runs under any test runner: nothing that it loads needs vitest, which is optional. */
import { describe, expect, it, vi } from "vitest";
import { loadedBy } from "../support/loaded-by.js";

describe("promethean/testing", () => {
  const entry = (path: string): Set<string> =>
    loadedBy(new URL(`../../src/testing/${path}`, import.meta.url));

  it.each(["index.ts", "require.ts"])("%s loads no vitest", (path) => {
    const loaded = entry(path);
    expect(loaded.size).toBeGreaterThan(20);
    expect(loaded).not.toContain("vitest");
  });

  it("has the conformance suite where vitest runs, and says so elsewhere", async () => {
    const fixture = { name: "nobody's", create: () => Promise.reject(new Error("it was not asked for")) };
    vi.resetModules();
    vi.stubEnv("VITEST", undefined);
    const elsewhere = await import("../../src/testing/index.js");
    expect(() => elsewhere.describeStore(fixture)).toThrow(/runs under vitest/);
    vi.unstubAllEnvs();
    vi.resetModules();
    const here = await import("../../src/testing/index.js");
    // Of vitest's own: that it cannot declare tests inside of one.
    expect(() => here.describeStore(fixture)).toThrow(/inside/);
  });

  it("leaves that to the conformance suite, which has an entry of its own", () => {
    expect(entry("conformance/index.ts")).toContain("vitest");
  });
});
