import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { compileModule } from "../../../scripts/embedded-sources.mjs";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const fixture = "test/fixtures/lint";
let program = "";

beforeAll(async () => {
  const hooks = new URL("../../../src/schema/lint/module-hooks.ts", import.meta.url);
  program = fileURLToPath(await compileModule(new URL("./lint-program.ts", import.meta.url), [hooks]));
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function lint(...args: string[]): Promise<Ended> {
  return run(program, repository, args);
}

async function run(path: string, cwd: string, args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [path, "lint", ...args], { cwd });
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

  it("says what to install where there is no TypeScript, in one line", async () => {
    const folder = await mkdtemp(join(tmpdir(), "promethean-lint-"));
    try {
      const place = await withoutTypeScript(folder);
      const { code, stdout, stderr } = await run(place, folder, ["."]);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toBe(
        "promethean: reading your sources takes the TypeScript compiler, which is not installed here: npm install --save-dev typescript\n",
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

/** The program in a folder of its own, with everything installed but TypeScript. */
async function withoutTypeScript(folder: string): Promise<string> {
  await cp(dirname(program), join(folder, "program"), { recursive: true });
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const modules = join(folder, "node_modules");
  await mkdir(modules);
  for (const name of await readdir(join(repository, "node_modules"))) {
    if (!name.startsWith(".") && name !== "typescript")
      await symlink(join(repository, "node_modules", name), join(modules, name));
  }
  return join(folder, "program", basename(program));
}
