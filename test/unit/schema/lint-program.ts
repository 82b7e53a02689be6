/** A process of its own that runs the lint command with what it is given. */
import { Command } from "commander";
import { lintCommand } from "../../../src/cli/commands/lint.js";

await new Command("promethean").addCommand(lintCommand()).parseAsync();
