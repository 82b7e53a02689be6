/** `promethean config`: the settings that `serve` would use, checked, without their secrets. */
import type { Command } from "commander";
import { type ConfigFlags, loadConfig, redactedConfig } from "../hub-config.js";
import { newCommand } from "../own-command.js";
import { perform, type Session, withJson } from "../session.js";
import { withConfigFlags } from "./serve.js";

export function configCommand(): Command {
  return newCommand("config", "The settings of `promethean serve`.", [
    "promethean config check --config hub.yaml",
  ])
    .addCommand(
      withJson(
        withConfigFlags(
          newCommand("print", "Prints every setting, as it would be used; secrets are not shown.", [
            "promethean config print --config hub.yaml",
            "promethean config print --config hub.yaml --json",
          ]),
        ),
      ).action(perform<ConfigFlags, []>(print)),
    )
    .addCommand(
      withJson(
        withConfigFlags(
          newCommand("check", "Checks the settings; exit code 5 if they are not valid.", [
            "promethean config check --config hub.yaml",
          ]),
        ),
      ).action(perform<ConfigFlags, []>(check)),
    );
}

async function print(session: Session<ConfigFlags>): Promise<void> {
  const config = redactedConfig(await loadConfig(session.options));
  const { stringify } = await import("yaml");
  session.out.value(config, stringify(config).trimEnd());
}

async function check(session: Session<ConfigFlags>): Promise<void> {
  await loadConfig(session.options);
  session.out.value({ ok: true }, "The settings are valid.");
}
