/** The engine ends the process if its thread is ended in the middle of its work: closing and exiting must not do that. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { partOf } from "../../../src/stores/embedded/backup/partial-copy.js";
import { runProgram, Workplace } from "./support.js";

const work = new Workplace();
const leaver = new URL("./query-leaver.ts", import.meta.url);
const backupLeaver = new URL("./backup-leaver.ts", import.meta.url);

it("P15: a store that is closed in the middle of queries ends them with CLOSED, and the process goes on", async () => {
  const rounds = (await runProgram(leaver, [work.path, "close"])).map((line) => JSON.parse(line) as string[]);
  expect(rounds).toHaveLength(5);
  for (const answers of rounds) {
    expect(answers.at(-1)).toBe("CLOSED");
    for (const answer of answers) expect(["answered", "CLOSED"]).toContain(answer);
  }
});

it("P15: a process that exits in the middle of queries does so by itself", async () => {
  for (const afterMs of [0, 10, 25]) {
    const path = join(work.folder, `exit-${afterMs}.db`);
    expect(await runProgram(leaver, [path, "exit", String(afterMs)])).toEqual([]);
  }
});

it("P15: a process that exits in the middle of a backup does not wait for the rest of it", async () => {
  const target = join(work.folder, "copy.db");
  expect(await runProgram(backupLeaver, [work.path, target])).toEqual([]);
  expect(statSync(partOf(target)).size).toBeLessThan(statSync(work.path).size);
});
