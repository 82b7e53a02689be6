/** The programs of examples/ and sibilant/ print what they are said to print. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt, Running } from "../support/cli.js";
import { newDatabaseAddress } from "../support/mongo/address.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const names = readdirSync(`${root}examples/expected`).map((file) => file.replace(/\.txt$/, ""));

beforeAll(ensureBuilt);

const node = (...args: string[]) => new Running(process.execPath, args, { cwd: root }).ended;

async function printed(name: string, ...args: string[]): Promise<string> {
  const { code, out, err } = await node("scripts/example.mjs", name, ...args);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out;
}

const expected = (name: string): string => readFileSync(`${root}examples/expected/${name}.txt`, "utf8");

describe("the examples", () => {
  it("are all expected to print something", () => {
    const programs = readdirSync(`${root}examples`)
      .filter((file) => file.endsWith(".ts") && file !== "temporary-folder.ts")
      .map((file) => file.replace(/\.ts$/, ""));
    expect(names.toSorted()).toEqual(programs.toSorted());
  });

  it.each(names)("%s prints what is expected", async (name) => {
    expect(await printed(name)).toBe(expected(name));
  });

  it("P10: outbox-shop prints the same on MongoDB", async () => {
    const database = await newDatabaseAddress();
    expect(await printed("outbox-shop", database.url)).toBe(expected("outbox-shop"));
    await database.drop();
  });

  it("names the examples there are", async () => {
    const { code, err } = await node("scripts/example.mjs", "nonsense");
    expect(code).toBe(2);
    for (const name of names) expect(err).toContain(name);
  });
});

describe("the Lisp sugar", () => {
  it("compiles to a program that runs", async () => {
    const compiled = await node("sibilant/compile.mjs", "sibilant/example/heartbeats.sib");
    expect(compiled).toMatchObject({ code: 0, err: "" });
    mkdirSync(`${root}.cache/sibilant`, { recursive: true });
    writeFileSync(`${root}.cache/sibilant/heartbeats.mjs`, compiled.out);
    const { code, out, err } = await node(".cache/sibilant/heartbeats.mjs");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toBe(readFileSync(`${root}sibilant/example/heartbeats.txt`, "utf8"));
  });

  it("says which file it misses", async () => {
    writeFileSync(`${root}.cache/sibilant-missing.sib`, '(include "prom/nonsense")\n');
    const { code, err } = await node("sibilant/compile.mjs", ".cache/sibilant-missing.sib");
    expect(code).toBe(1);
    expect(err).toContain("there is no prom/nonsense.sib");
  });
});
