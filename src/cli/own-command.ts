/** Commands as all of ours are. Loads nothing but commander: whoever asks for help does not wait for more. */
import { Command } from "commander";

const examplesByCommand = new WeakMap<Command, readonly string[]>();

/** The examples under its help. */
export function examplesOf(command: Command): readonly string[] {
  return examplesByCommand.get(command) ?? [];
}

/** A command of ours, with examples under its help. */
export function newCommand(name: string, summary: string, examples: readonly string[] = []): Command {
  const command = new Command(name).description(summary).helpOption("-h, --help", "how it is used");
  examplesByCommand.set(command, examples);
  if (examples.length > 0) {
    command.addHelpText("after", `\nExamples:\n${examples.map((example) => `  ${example}`).join("\n")}`);
  }
  return command;
}
