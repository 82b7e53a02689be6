/**
 * The README is run as it stands: its commands in a shell against `npm start`'s program, its programs on the built package,
 * its change of one line against a real MongoDB. "…" in an output stands for anything.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt, Running, start } from "../support/cli.js";
import { eventually } from "../support/eventually.js";
import { newDatabaseAddress } from "../support/mongo/address.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const readme = readFileSync(`${root}README.md`, "utf8");

interface Block {
  readonly language: string;
  readonly text: string;
}

const blocks: Block[] = [...readme.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
  ([, language = "", text = ""]) => ({
    language,
    text,
  }),
);
const programs = blocks.flatMap(({ language, text }, i) => {
  const next = blocks[i + 1];
  return language === "ts" ? [{ text, output: next?.language === "text" ? next.text : "" }] : [];
});

let folder = "";
beforeAll(() => {
  ensureBuilt();
  folder = mkdtempSync(join(tmpdir(), "promethean-readme-"));
  mkdirSync(`${root}.cache/readme`, { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program of the README in a folder of its own; the package is found by its name. */
async function runProgram(text: string, name: string): Promise<string> {
  const options = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
  };
  const file = `${root}.cache/readme/${name}.js`;
  writeFileSync(file, ts.transpileModule(text, { compilerOptions: options }).outputText);
  const { code, out, err } = await new Running(process.execPath, [file], { cwd: folder }).ended;
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out;
}

/** A line of stderr, among those of a command. */
function isSaid(line: string): boolean {
  return line.startsWith("promethean: ");
}

function pattern(output: string): RegExp {
  const escaped = output.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replaceAll("…", "[\\s\\S]*?").replaceAll(/ +/g, " +")}$`);
}

describe("the README", () => {
  it("has programs with outputs", () => {
    expect(programs.length).toBeGreaterThanOrEqual(3);
    expect(programs.filter(({ output }) => output === "")).toEqual([]);
  });

  it.each(programs.map((program, i) => [i + 1, program] as const))(
    "program %i prints what it says",
    async (i, program) => {
      expect(await runProgram(program.text, `program-${i}`)).toBe(program.output);
    },
  );

  it("the first program runs on MongoDB with the lines it says changed", async () => {
    const database = await newDatabaseAddress();
    const lines = (blocks.find(({ language }) => language === "diff")?.text ?? "").trim().split("\n");
    const removed = lines.filter((line) => line.startsWith("-")).map((line) => line.slice(1));
    const added = lines.filter((line) => line.startsWith("+")).map((line) => line.slice(1));
    let text = programs[0]?.text ?? "";
    for (const [i, line] of removed.entries()) {
      expect(text).toContain(line);
      text = text.replace(line, added[i] ?? "");
    }
    const out = await runProgram(text.replace(/mongodb:\/\/[^"]+/, database.url), "mongo");
    await database.drop();
    expect(out).toBe(programs[0]?.output);
  });

  it("P8: its ten commands lead from a clone to a redriven dead letter and a rebuilt view", async () => {
    // A clone that is set up already: what its first two commands leave.
    symlinkSync(`${root}dist`, join(folder, "dist"));
    const env = { PROMETHEAN_PORT: "0" };
    const up = start(["up"], { cwd: folder, env });
    try {
      await eventually(() => /\d+ processes/.test(up.out), "npm start shows live data", 60_000);
      const commands = (blocks.find(({ language }) => language === "console")?.text ?? "")
        .split(/^\$ /m)
        .slice(1);
      expect(commands).toHaveLength(8);
      const alias = commands[0]?.trim() ?? "";
      for (const command of commands.slice(1)) {
        const [line = "", ...output] = command.split("\n");
        const script = `shopt -s expand_aliases\n${alias}\n${line}`;
        const { code, out, err } = await new Running("bash", ["-c", script], { cwd: folder, env }).ended;
        expect({ line, code }).toEqual({ line, code: 0 });
        expect(out.trim()).toMatch(pattern(output.filter((each) => !isSaid(each)).join("\n")));
        expect(err.trim()).toMatch(pattern(output.filter(isSaid).join("\n")));
      }
      up.child.kill("SIGTERM");
      expect((await up.ended).code).toBe(0);
    } finally {
      up.child.kill("SIGKILL");
      await up.ended;
    }
  });
});
