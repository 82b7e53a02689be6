/** The engine ends the process if its thread is ended in the middle of a query: closing and exiting must not do that. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { runProgram, Workplace } from "./support.js";

const work = new Workplace();
const leaver = new URL("./query-leaver.ts", import.meta.url);

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
