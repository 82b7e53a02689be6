/** Commands as all of ours are. Loads nothing but commander: whoever asks for help does not wait for more. */
import { Command, Help } from "commander";

const examplesByCommand = new WeakMap<Command, readonly string[]>();

/** The examples under its help. */
export function examplesOf(command: Command): readonly string[] {
  return examplesByCommand.get(command) ?? [];
}

/** Terminals are narrow now and then: words are not cut in two there, and what must be given says so. */
const HELP: Partial<Help> = {
  minWidthToWrap: 20,
  optionDescription(option) {
    const words = Help.prototype.optionDescription.call(this, option);
    return option.mandatory && option.defaultValue === undefined ? `${words} (required)` : words;
  },
};

/** Text under the help, as wide as the terminal is. */
export function addClosingWords(command: Command, paragraphs: readonly string[]): void {
  command.addHelpText("after", () => {
    const { columns = 80 } = process.stdout;
    const help = command.createHelp();
    return `\n${paragraphs.map((paragraph) => help.boxWrap(paragraph, columns)).join("\n")}`;
  });
}

/** A command of ours, with examples under its help. */
export function newCommand(name: string, summary: string, examples: readonly string[] = []): Command {
  const command = new Command(name).description(summary).helpOption("-h, --help", "show this help");
  command.configureHelp(HELP);
  examplesByCommand.set(command, examples);
  if (examples.length > 0) {
    command.addHelpText("after", `\nExamples:\n${examples.map((example) => `  ${example}`).join("\n")}`);
  }
  return command;
}
