import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sbomOf } from "../../scripts/sbom.mjs";

const read = (
  name: string,
): { dependencies: Record<string, string>; devDependencies: Record<string, string> } =>
  JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), "utf8"));

describe("the list of components", () => {
  const { dependencies, devDependencies } = read("package.json");
  const lock = read("package-lock.json");

  it("holds every dependency of the package, and none that only development needs", () => {
    const { components } = sbomOf(lock);
    const names = new Set(components.map(({ name }) => name));
    for (const name of Object.keys(dependencies)) expect(names).toContain(name);
    for (const name of ["vitest", "typescript", "playwright-core"]) {
      expect(devDependencies).toHaveProperty([name]);
      expect(names).not.toContain(name);
    }
    expect(sbomOf(lock, { dev: true }).components.length).toBeGreaterThan(components.length);
  });

  it("names only components that it lists, each once, and says the same each time", () => {
    const sbom = sbomOf(lock);
    const refs = sbom.components.map((component) => component["bom-ref"]);
    expect(new Set(refs).size).toBe(refs.length);
    for (const { dependsOn } of sbom.dependencies) for (const ref of dependsOn) expect(refs).toContain(ref);
    for (const { hashes = [] } of sbom.components)
      for (const { alg, content } of hashes) expect([alg, content.length]).toEqual(["SHA-512", 128]);
    expect(sbomOf(lock)).toEqual(sbom);
  });
});
