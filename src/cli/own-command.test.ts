import { expect, it } from "vitest";
import { addClosingWords, newCommand } from "./own-command.js";

const wordy = "a few words that say what it is for, and that do not fit beside it in a narrow terminal";

function helpAt(columns: number): string {
  const command = newCommand("copy", wordy)
    .requiredOption("-x, --a-rather-long-option <value>", wordy)
    .option("--other <value>", wordy);
  return command.configureOutput({ getOutHelpWidth: () => columns }).helpInformation();
}

it.each([60, 80])("help is no wider than a terminal of %d columns", (columns) => {
  for (const line of helpAt(columns).split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
});

it("help says which options are required", () => {
  const [, required, other] =
    helpAt(200)
      .split("Options:")[1]
      ?.split(/\n {2}-/) ?? [];
  expect(required).toContain("(required)");
  expect(other).not.toContain("(required)");
});

it("the closing words are as wide as the terminal", () => {
  const command = newCommand("copy", "");
  addClosingWords(command, [wordy.repeat(3)]);
  let said = "";
  command
    .configureOutput({
      writeOut: (text) => {
        said += text;
      },
    })
    .outputHelp();
  const { columns = 80 } = process.stdout;
  expect(said).toContain("a few words");
  for (const line of said.split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
});
