/** Links between the documents lead somewhere, in the repository and in the package. */
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
  "bench/README.md",
  "ops/README.md",
];
const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { files: string[] };

/** As npm decides: what `files` names, README.md and LICENSE. */
function isPacked(name: string): boolean {
  const isIn = (path: string): boolean => name === path || name.startsWith(`${path}/`);
  const left = files.flatMap((path) => (path.startsWith("!") ? [path.slice(1)] : []));
  return ["README.md", "LICENSE", ...files].some(isIn) && !left.some(isIn);
}

/** Targets in this repository, without their anchors. */
function targets(text: string): string[] {
  return [...text.matchAll(/\]\(([^)#\s]+)(#[^)]*)?\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** The anchors that GitHub gives the headings of a page; one that comes again is numbered. */
function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>();
  const headings = [...text.replaceAll(/^```.*?^```$/gms, "").matchAll(/^#+ (.+)$/gm)];
  return new Set(
    headings.map(([, heading = ""]) => {
      const words = heading
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .trim()
        .toLowerCase();
      const slug = words.replaceAll(/[^\w\- ]/g, "").replaceAll(" ", "-");
      const times = seen.get(slug) ?? 0;
      seen.set(slug, times + 1);
      return times === 0 ? slug : `${slug}-${times}`;
    }),
  );
}

/** Links to a heading of a page that is there, as [page, anchor]. */
function headingLinks(name: string): [string, string][] {
  return [...readFileSync(join(root, name), "utf8").matchAll(/\]\(([^)#\s]*)#([^)]+)\)/g)]
    .filter(([, target = ""]) => target === "" || (target.endsWith(".md") && !/^[a-z]+:/.test(target)))
    .map(([, target = "", anchor = ""]) => [target === "" ? name : join(dirname(name), target), anchor]);
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

  it.each(documents)("%s links only to headings that are there", (name) => {
    const broken = headingLinks(name).filter(
      ([page, anchor]) => !anchorsOf(readFileSync(join(root, page), "utf8")).has(anchor),
    );
    expect(broken).toEqual([]);
  });

  it("have links to headings", () => {
    expect(documents.flatMap(headingLinks).length).toBeGreaterThan(20);
  });

  it.each(documents)("%s names only files that are there", (name) => {
    const text = readFileSync(join(root, name), "utf8");
    const named = [...text.matchAll(/`((?:src|test|scripts|examples|bench)\/[\w./-]+)`/g)].map(
      ([, path = ""]) => path,
    );
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it("all go with the package", () => {
    expect(documents.filter((name) => !isPacked(name))).toEqual([]);
  });

  it.each(documents)("%s links only to what goes with the package", (name) => {
    const linked = targets(readFileSync(join(root, name), "utf8")).map((target) =>
      join(dirname(name), target),
    );
    expect(linked.filter((path) => !isPacked(path.replace(/\/$/, "")))).toEqual([]);
  });
});
