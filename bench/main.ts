/**
 * `npm run bench -- <suite | all>`, `… compare <rev> [suite]`, `… chart <json> <svg>`, `… fill <json> <page>`: figures on stdout, progress on
 * stderr if that is a terminal. `scripts/bench.mjs` compiles first.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Command, InvalidArgumentError } from "commander";
import { chartSvg } from "./chart.js";
import { comparisonOf } from "./compare.js";
import { remoteSuite } from "./remote-suite.js";
import { filledPage } from "./report-markdown.js";
import { reportText } from "./report-text.js";
import { type Report, runSuite } from "./run-suite.js";
import type { Suite } from "./suite.js";
import { suiteNames } from "./suites.js";

const CLEAR_LINE = "\r\x1b[K";
const PROGRAM = new URL("./suite-process.js", import.meta.url);

interface OutputOptions {
  readonly json: boolean;
  readonly long?: boolean;
  readonly out?: string;
  readonly rounds: number;
}

function atLeastThree(text: string): number {
  const rounds = Number(text);
  if (Number.isInteger(rounds) && rounds >= 3) return rounds;
  throw new InvalidArgumentError("It takes 3 rounds or more to tell a figure from noise.");
}

function suiteNamed(name: string): string {
  if (name === "all" || suiteNames().includes(name)) return name;
  throw new InvalidArgumentError(`There are ${suiteNames().join(", ")}, and all.`);
}

async function measured(suite: Suite, rounds: number): Promise<Report> {
  const live = process.stderr.isTTY;
  try {
    return await runSuite(suite, {
      rounds,
      onProgress: (done, of, name) => {
        if (live) process.stderr.write(`${CLEAR_LINE}${suite.name} ${done + 1}/${of} ${name}`);
      },
    });
  } finally {
    if (live) process.stderr.write(CLEAR_LINE);
  }
}

/** A suite that fails is named, and the others go on. */
async function* reportsOf(name: string, rounds: number): AsyncGenerator<Report> {
  for (const each of name === "all" ? suiteNames() : [name]) {
    try {
      yield await measured(await remoteSuite({ program: PROGRAM, name: each }), rounds);
    } catch (error) {
      process.stderr.write(`${each} failed: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = 1;
    }
  }
}

async function bench(name: string, { json, out, rounds, long }: OutputOptions): Promise<void> {
  if (long) process.env.PROMETHEAN_BENCH_LONG = "1";
  const reports: Report[] = [];
  for await (const report of reportsOf(name, rounds)) {
    reports.push(report);
    if (!json) process.stdout.write(`${reportText(report)}\n\n`);
    if (out !== undefined) writeFileSync(out, `${JSON.stringify(reports)}\n`);
  }
  if (json && reports.length > 0)
    process.stdout.write(`${JSON.stringify(name === "all" ? reports : reports[0])}\n`);
}

async function compare(
  rev: string,
  name: string,
  { json, out, rounds, tree }: OutputOptions & { readonly tree: string },
): Promise<void> {
  const program = pathToFileURL(join(tree, "bench", "suite-process.js"));
  const suite = await comparisonOf(name, { label: "here", program: PROGRAM }, { label: rev, program });
  const report = await measured(suite, rounds);
  if (out !== undefined) writeFileSync(out, `${JSON.stringify([report])}\n`);
  process.stdout.write(`${json ? JSON.stringify(report) : reportText(report)}\n`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return program.error((error as Error).message);
  }
}

function readReports(json: string): readonly Report[] {
  return [JSON.parse(readText(json)) as Report | readonly Report[]].flat();
}

function fill(json: string, page: string): void {
  writeFileSync(page, filledPage(readText(page), readReports(json)));
}

function chart(json: string, svg: string, options: { suite?: string; only?: string }): void {
  const reports = readReports(json);
  const report = reports.find(({ suite }) => suite === (options.suite ?? reports[0]?.suite));
  if (report === undefined) program.error(`${json} has no suite ${options.suite}.`);
  writeFileSync(svg, chartSvg(report, options.only ?? ""));
}

const outputs = (command: Command): Command =>
  command
    .option("--json", "one line of JSON instead of a table", false)
    .option("--out <file>", "the same JSON into a file, whatever is printed")
    .option("--rounds <n>", "how often every case is measured", atLeastThree, 5);

const program: Command = new Command("npm run bench --").description(
  "Measures; see bench/README.md for how, and for what the figures mean.",
);
outputs(program.command("run", { isDefault: true }).description("measure a suite, or all of them"))
  .argument("<suite>", `${suiteNames().join(", ")}, or all`, suiteNamed)
  .option("--long", "sizes that take minutes each, where a suite has them")
  .action(bench);
outputs(program.command("compare").description("measure another revision beside this tree, in turns"))
  .argument("<rev>", "anything that git knows a commit by")
  .argument("[suite]", "as above, without all", suiteNamed, "core")
  .requiredOption("--tree <folder>", "where the other revision was compiled to (given by scripts/bench.mjs)")
  .action(compare);
program
  .command("chart")
  .description("draw what --out wrote")
  .argument("<json>")
  .argument("<svg>")
  .option("--suite <name>", "of several, this one")
  .option("--only <text>", "figures whose names begin so")
  .action(chart);
program
  .command("fill")
  .description("put what --out wrote into a page, where it has a place for it")
  .argument("<json>")
  .argument("<page>", "Markdown with <!-- figures: suite --> and <!-- end -->")
  .action(fill);
for (const command of [program, ...program.commands])
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
await program.parseAsync();
