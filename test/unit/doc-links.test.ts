/** Links between the documents lead somewhere. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

/** Targets in this repository, without their anchors. */
function targets(text: string): string[] {
  return [...text.matchAll(/\]\(([^)#\s]+)(#[^)]*)?\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

describe("the documents", () => {
  it("are found, with links among them", () => {
    expect(documents).toContain("README.md");
    expect(targets(readFileSync(join(root, "README.md"), "utf8")).length).toBeGreaterThan(10);
  });

  it.each(documents)("%s links only to what is there", (name) => {
    const broken = targets(readFileSync(join(root, name), "utf8")).filter(
      (target) => !existsSync(join(root, dirname(name), target)),
    );
    expect(broken).toEqual([]);
  });

  it("go with the package, as far as README.md leads to them", () => {
    const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { files: string[] };
    const packed = ["LICENSE", ...files];
    const left = targets(readFileSync(join(root, "README.md"), "utf8")).filter(
      (target) => !packed.some((name) => target === name || target.startsWith(`${name}/`)),
    );
    expect(new Set(left)).toEqual(new Set(["examples", "bench/README.md", "CONTRIBUTING.md"]));
  });
});
