/** `npm run bench -- <suite> [--json] [--rounds n]`: figures on stdout, progress on stderr if that is a terminal. */
import { Command, InvalidArgumentError } from "commander";
import { reportText } from "./report-text.js";
import { runSuite } from "./run-suite.js";
import type { Suite } from "./suite.js";

/** Loaded only when asked for: some need a database. */
const SUITES: Readonly<Record<string, () => Promise<{ readonly suite: Suite }>>> = {
  core: () => import("./suites/core.js"),
  embedded: () => import("./suites/embedded.js"),
  hub: () => import("./suites/hub.js"),
  mongo: () => import("./suites/mongo.js"),
  schema: () => import("./suites/schema.js"),
};

const CLEAR_LINE = "\r\x1b[K";

function atLeastThree(text: string): number {
  const rounds = Number(text);
  if (Number.isInteger(rounds) && rounds >= 3) return rounds;
  throw new InvalidArgumentError("It takes 3 rounds or more to tell a figure from noise.");
}

function suiteNamed(name: string): () => Promise<{ readonly suite: Suite }> {
  const load = SUITES[name];
  if (load !== undefined) return load;
  throw new InvalidArgumentError(`There are ${Object.keys(SUITES).join(", ")}.`);
}

async function bench(
  load: () => Promise<{ readonly suite: Suite }>,
  { json, rounds }: { json: boolean; rounds: number },
): Promise<void> {
  const { suite } = await load();
  const live = process.stderr.isTTY;
  const report = await runSuite(suite, {
    rounds,
    onProgress: (done, of, name) => {
      if (live) process.stderr.write(`${CLEAR_LINE}${done + 1}/${of} ${name}`);
    },
  });
  if (live) process.stderr.write(CLEAR_LINE);
  process.stdout.write(`${json ? JSON.stringify(report) : reportText(report)}\n`);
}

await new Command("npm run bench --")
  .description("Measures; see bench/README.md for how, and for what the figures mean.")
  .argument("<suite>", Object.keys(SUITES).join(", "), suiteNamed)
  .option("--json", "one line of JSON instead of a table", false)
  .option("--rounds <n>", "how often every case is measured", atLeastThree, 5)
  .action(bench)
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .parseAsync();
