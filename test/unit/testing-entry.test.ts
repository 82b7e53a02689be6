/** `promethean/testing` runs under any test runner: nothing that it loads needs vitest, which is optional. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

/** What a module of ours loads, itself included: files of ours, and packages by name. */
function loadedBy(file: URL, seen = new Set<string>()): Set<string> {
  if (seen.has(file.href)) return seen;
  seen.add(file.href);
  const source = readFileSync(fileURLToPath(file), "utf8");
  for (const [, kind = "", from = ""] of source.matchAll(
    /^(?:import|export) (type )?[^;]*?from "([^"]+)";/gms,
  )) {
    if (kind !== "") continue;
    if (from.startsWith(".")) loadedBy(new URL(from.replace(/\.js$/, ".ts"), file), seen);
    else seen.add(from);
  }
  return seen;
}

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
