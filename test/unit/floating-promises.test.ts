import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const script = fileURLToPath(new URL("../../scripts/check-floating-promises.mjs", import.meta.url));
const compilerOptions = {
  ...{ target: "ES2022", module: "NodeNext", strict: true, types: [], lib: ["ES2022"] },
  // Its own declarations are in order, and to look at those of the language takes longer than all else.
  skipLibCheck: true,
};
const declarations = `
declare function work(n: number): Promise<number>;
declare function later(f: () => void): void;
declare function wait<T>(f: () => Promise<T>): Promise<T>;
declare const port: { commit(): Promise<void>; maybe?(): Promise<void> };
`;

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "floating-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The numbers of the planted lines that the check reports, and its exit code. */
function check(lines: readonly string[], ...flags: string[]): { lines: number[]; status: number | null } {
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: ["types.d.ts", "a.ts"] }),
  );
  writeFileSync(join(folder, "types.d.ts"), declarations);
  writeFileSync(join(folder, "a.ts"), `${lines.join("\n")}\nexport {};\n`);
  const done = spawnSync(process.execPath, [script, ...flags, join(folder, "tsconfig.json")], {
    cwd: folder,
    encoding: "utf8",
  });
  const reported = [...done.stderr.matchAll(/^a\.ts[:(](\d+)[:,]/gm)].map((match) => Number(match[1]));
  return { lines: reported, status: done.status };
}

describe("the check for floating promises", () => {
  it("reports every promise that is dropped", () => {
    const planted = [
      "work(1);",
      "port.commit();",
      "port.maybe?.();",
      "work(1).then((n) => n);",
      "work(1).finally(() => {});",
      "Promise.all([work(1)]);",
      "[1, 2].map((n) => work(n));",
      "(async () => {})();",
      "Math.random() > 1 ? work(1) : 0;",
      "Math.random() > 1 && work(1);",
      "later(async () => { await work(1); });",
      "later(port.commit);",
      "const hooks: { close(): void } = { close: async () => { await work(1); } }; hooks.close();",
    ];
    expect(check(planted)).toEqual({ lines: planted.map((_, i) => i + 1), status: 1 });
  });

  it("is silent about promises that somebody owns", () => {
    const owned = [
      "await work(1);",
      "const kept = work(1); await kept;",
      "void work(1);",
      "work(1).catch(() => {});",
      "work(1).then((n) => n, () => 0).finally(() => {});",
      "await wait(async () => { await work(1); });",
      "export const run = async () => work(1);",
      "let last: Promise<number>; last = work(1); await last;",
    ];
    expect(check(owned)).toEqual({ lines: [], status: 0 });
  });

  it("tells with --types what the compiler finds wrong, too", () => {
    const planted = ["export const text: string = 1;", "void work(1);", "work(2);"];
    expect(check(planted, "--types")).toEqual({ lines: [1, 3], status: 1 });
    expect(check(planted.slice(0, 2), "--types")).toEqual({ lines: [1], status: 1 });
    expect(check(planted.slice(1, 2), "--types")).toEqual({ lines: [], status: 0 });
  });
});
