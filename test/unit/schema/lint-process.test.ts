import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { compileModule } from "../../../scripts/embedded-sources.mjs";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const fixture = "test/fixtures/lint";
let program = "";

beforeAll(() => {
  const hooks = new URL("../../../src/schema/lint/module-hooks.ts", import.meta.url);
  program = fileURLToPath(compileModule(new URL("./lint-program.ts", import.meta.url), [hooks]));
});

async function lint(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [program, "lint", ...args], { cwd: repository });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (data) => {
    stdout += data;
  });
  child.stderr.on("data", (data) => {
    stderr += data;
  });
  const [code] = (await once(child, "close")) as [number];
  return { code, stdout, stderr };
}

describe("the command lint, in a process of its own", () => {
  it("loads TypeScript modules as they are, annotates for GitHub, and ends with 5 if there are findings", async () => {
    const flags = ["--schemas", `${fixture}/src/schemas.ts`, "--baseline", `${fixture}/released.json`];
    const { code, stdout, stderr } = await lint(fixture, ...flags, "--github");
    expect(code).toBe(5);
    expect(stderr).toContain("18 findings in 2 files");
    const annotations = stdout.trim().split("\n");
    expect(annotations).toContain(
      '::error file=test/fixtures/lint/src/shop.ts,line=15,col=25,title=promethean schema-missing::"audit.written" has no schema: give its definition one, or register one',
    );
    const rules = annotations.map((line) => /title=promethean ([a-z-]+)::/.exec(line)?.[1]);
    expect([...new Set(rules)].sort()).toEqual([
      "header-name",
      "header-reserved",
      "header-value",
      "schema-changed",
      "schema-incompatible",
      "schema-missing",
      "schema-order",
      "schema-unknown",
      "topic-name",
      "topic-pattern",
      "upcast-missing",
    ]);
  });

  it("says what is wrong with how it was called, in one line", async () => {
    const absent = await lint("no/such/folder");
    expect([absent.code, absent.stdout]).toEqual([3, ""]);
    expect(absent.stderr).toBe("promethean: there is no folder no/such/folder\n");
    expect((await lint(fixture, "--json", "--github")).code).toBe(2);
  });
});
