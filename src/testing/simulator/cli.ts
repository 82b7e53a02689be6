/**
 * `npm run sim -- --seeds 1000 [--from N]` runs many seeds, `--seed N` runs one and says more. Data goes to stdout, the
 * progress line to stderr, and only if that is a terminal. Ends with 1 if a seed is not clean.
 */
import { Command, InvalidArgumentError } from "commander";
import { historyLine } from "./history-line.js";
import { MUTANTS, mutantByName } from "./mutants.js";
import { type SimulationResult, simulate } from "./simulate.js";

interface Options {
  readonly seeds: number;
  readonly from: number;
  readonly seed?: number;
  readonly mutant?: string;
  readonly trace?: boolean;
}

const SHOWN_ANOMALIES = 5;
const USAGE_ERROR = 2;

const program = new Command("sim")
  .description("Runs buses, producers and faults in one process under one seed, and judges what happened.")
  .option("--seeds <count>", "how many seeds to run", wholeNumber, 200)
  .option("--from <seed>", "the first of them", wholeNumber, 1)
  .option("--seed <seed>", "run this one seed and show its hash", wholeNumber)
  .option("--mutant <name>", `run with a planted bug: ${MUTANTS.map(({ name }) => name).join(", ")}`)
  .option("--trace", "with --seed: print the history, one event a line")
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : USAGE_ERROR))
  .addHelpText("after", "\nExamples:\n  npm run sim -- --seeds 1000\n  npm run sim -- --seed 42 --trace");

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError("a whole number is needed");
  return value;
}

async function main(): Promise<void> {
  const options = program.parse().opts<Options>();
  if (options.mutant !== undefined && mutantByName(options.mutant) === undefined)
    program.error(`there is no planted bug "${options.mutant}"`);
  const clean = options.seed === undefined ? await runMany(options) : await runOne(options, options.seed);
  process.exitCode = clean ? 0 : 1;
}

async function runMany(options: Options): Promise<boolean> {
  const startMs = Date.now();
  let failed = 0;
  let events = 0;
  for (let i = 0; i < options.seeds; i++) {
    const seed = options.from + i;
    progress(`seed ${seed}, ${i} of ${options.seeds} done, ${failed} failed`);
    const result = await run(options, seed);
    events += result?.history.length ?? 0;
    if (result !== undefined && result.anomalies.length === 0) continue;
    failed++;
    progress("");
    if (result !== undefined) tell(result, options);
  }
  progress("");
  const seconds = ((Date.now() - startMs) / 1000).toFixed(1);
  console.log(
    `${options.seeds} seeds from ${options.from}: ${failed} failed, ${events} events recorded, ${seconds} s`,
  );
  return failed === 0;
}

async function runOne(options: Options, seed: number): Promise<boolean> {
  const result = await run(options, seed);
  if (result === undefined) return false;
  if (options.trace)
    for (const event of result.history) console.log(historyLine(event, result.history[0]?.atMs ?? 0));
  if (result.anomalies.length > 0) tell(result, options);
  else console.log(`seed ${seed}: clean`);
  console.log(`${result.history.length} events, ${result.tookMs} ms of virtual time, hash ${result.hash}`);
  return result.anomalies.length === 0;
}

/** A seed that makes the simulation itself fail is a failed seed too. */
async function run(options: Options, seed: number): Promise<SimulationResult | undefined> {
  const mutant = options.mutant === undefined ? undefined : mutantByName(options.mutant);
  try {
    return await simulate({ seed, ...(mutant && { mutant }) });
  } catch (error) {
    progress("");
    console.log(`seed ${seed}: the run failed: ${error instanceof Error ? error.message : String(error)}`);
    console.log(`  replay: ${replay(options, seed)}`);
    return undefined;
  }
}

function tell({ seed, anomalies }: SimulationResult, options: Options): void {
  console.log(`seed ${seed}: ${anomalies.length} anomalies`);
  for (const { class: name, says } of anomalies.slice(0, SHOWN_ANOMALIES)) console.log(`  ${name}: ${says}`);
  if (anomalies.length > SHOWN_ANOMALIES) console.log(`  and ${anomalies.length - SHOWN_ANOMALIES} more`);
  console.log(`  replay: ${replay(options, seed)}`);
}

function replay({ mutant }: Options, seed: number): string {
  return `npm run sim -- --seed ${seed}${mutant === undefined ? "" : ` --mutant ${mutant}`} --trace`;
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

await main();
