/** Every example that a --help shows is run, as it is written. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/command-table.js";
import { examplesOf } from "../../src/cli/own-command.js";
import { type Ended, ensureBuilt, type Running, shell } from "../support/cli.js";
import { cliScene, type Scene } from "../support/cli-scene.js";
import { eventually } from "../support/eventually.js";
import { type DatabaseAddress, newDatabaseAddress } from "../support/mongo/address.js";

/** It has tests of its own: it reads a whole project. */
const ELSEWHERE = new Set(["lint"]);
/** They go on until they are asked to end. */
const ENDLESS = /promethean (up|serve)\b|promethean lag --watch|^promethean tail orders\.placed(?!.*--limit)/;

let scene: Scene;
let database: DatabaseAddress;
const running = new Set<Running>();

beforeAll(async () => {
  ensureBuilt();
  scene = await cliScene();
  database = await newDatabaseAddress();
});
afterAll(async () => {
  for (const { child } of running) child.kill("SIGKILL");
  await scene?.close();
  await database?.drop();
});

async function allOf(command: Command): Promise<Command[]> {
  const subs = await Promise.all(command.commands.map((sub) => allOf(sub as Command)));
  return [command, ...subs.flat()];
}

const commands = (
  await Promise.all(
    Object.entries(COMMANDS).map(async ([name, { load }]) =>
      ELSEWHERE.has(name) ? [] : allOf(await load()),
    ),
  )
).flat();

async function filledIn(example: string): Promise<string> {
  const letter = example.includes("<letter>") ? await scene.letter() : "";
  const token = example.includes("<token>") ? readFileSync(join(scene.folder, "token"), "utf8").trim() : "";
  return example
    .replace("<letter>", letter)
    .replace("<token>", token)
    .replace("<entry>", "none")
    .replace(/mongodb:\/\/localhost:27017\/bus\?replicaSet=rs0/, database.url)
    .replaceAll(/~\/[^ ]+/g, "completion.txt");
}

async function runExample(example: string): Promise<Ended> {
  const line = await filledIn(example);
  const { folder: cwd, env, bin } = scene;
  const started = shell(
    ENDLESS.test(example) ? line.replace(/(^| )promethean /, "$1exec promethean ") : line,
    { cwd, env, bin },
  );
  running.add(started);
  if (ENDLESS.test(example)) {
    const quiet = example.startsWith("promethean tail");
    if (!quiet)
      await eventually(
        () => (started.out + started.err).includes("\n"),
        `"${example}" says something`,
        60_000,
      );
    started.child.kill(quiet ? "SIGTERM" : "SIGINT");
  }
  const ended = await started.ended;
  running.delete(started);
  return ended;
}

/** What moves the cursor or colors the text of a terminal. */
const FOR_TERMINALS = /(?![\t\n])\p{Cc}/u;

describe("the examples of the command line", () => {
  it("are there for every command", () => {
    const bare = commands
      .filter((command) => examplesOf(command).length === 0)
      .map((command) => command.name());
    expect(bare).toEqual([]);
  });

  // One after the other: some build on what earlier ones did.
  it("all work", async () => {
    const { fixture, folder, bin, env } = scene;
    const minted = shell(
      "promethean token mint --secret-file jwt-secret --subject shop --scope 'read:**' > token",
      { cwd: folder, bin, env },
    );
    expect((await minted.ended).code).toBe(0);
    const failed: string[] = [];
    const colored: string[] = [];
    for (const example of new Set(commands.flatMap((command) => [...examplesOf(command)]))) {
      const { code, out, err } = await runExample(example);
      const expected = ENDLESS.test(example) ? [0, 130, 143, null] : [0];
      if (!expected.includes(code)) failed.push(`${example} => ${code} ${err.trim()}`);
      if (FOR_TERMINALS.test(out + err)) colored.push(`${example} => ${JSON.stringify(out + err)}`);
    }
    expect(failed).toEqual([]);
    // None of them speaks to a terminal here.
    expect(colored).toEqual([]);
    expect(await fixture.bus.topics()).not.toEqual([]);
  }, 600_000);
});
