import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { problemsOf } from "../../scripts/check-floating-promises.mjs";

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

function plant(lines: readonly string[]): string {
  const config = join(folder, "tsconfig.json");
  writeFileSync(config, JSON.stringify({ compilerOptions, files: ["types.d.ts", "a.ts"] }));
  writeFileSync(join(folder, "types.d.ts"), declarations);
  writeFileSync(join(folder, "a.ts"), `${lines.join("\n")}\nexport {};\n`);
  return config;
}

/** The numbers of the planted lines that the check reports, one for each report. */
function check(lines: readonly string[], o: { readonly types?: boolean } = {}): number[] {
  return problemsOf(plant(lines), o).map((problem) => Number(/^a\.ts[:(](\d+)[:,]/.exec(problem)?.[1]));
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
    expect(check(planted)).toEqual(planted.map((_, i) => i + 1));
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
    expect(check(owned)).toEqual([]);
  });

  it("tells what the compiler finds wrong, too, if it is asked to", () => {
    const planted = ["export const text: string = 1;", "void work(1);", "work(2);"];
    expect(check(planted)).toEqual([3]);
    expect(check(planted, { types: true })).toEqual([1, 3]);
    expect(check(planted.slice(0, 2), { types: true })).toEqual([1]);
    expect(check(planted.slice(1, 2), { types: true })).toEqual([]);
  });

  it("is a program that tells what is wrong, and fails if anything is", () => {
    const run = (...flags: string[]) =>
      spawnSync(process.execPath, [script, ...flags], { cwd: folder, encoding: "utf8" });
    plant(["export const text: string = 1;", "void work(1);"]);
    expect(run()).toMatchObject({ status: 0, stderr: "" });
    expect(run("--types", "tsconfig.json")).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^a\.ts\(1,14\): error TS2322: .*\n$/),
    });
  });
});
