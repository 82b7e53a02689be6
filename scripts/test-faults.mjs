/**
 * `npm run test:faults [-- --minutes N] [--seed S] [--only part,part] [--count N] [--list]`: brings every kind of fault and
 * attack to the system, one part after the other, and judges what came of it. Each part is a process of its own.
 *
 * Without --minutes each part runs its short form; with it, the time is shared out. --count says how much the chosen parts
 * do instead, in their own units. The report goes to .cache/faults/report.json and report.txt, and to stdout.
 */
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { PARTS } from "./faults/parts.mjs";
import { textOf } from "./faults/report-text.mjs";
import { setup } from "./setup.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const values = given();

if (values.list) {
  for (const { name, says, short, unit } of PARTS)
    console.log(`${name.padEnd(18)}${says} (${short} ${unit})`);
  process.exit(0);
}
const chosen = choose(values.only);
const seed = Number(values.seed);
if (!setup()) process.exit(1);
const { results, seconds } = await runAll();
const whole = {
  command: `npm run test:faults -- ${process.argv.slice(2).join(" ")}`.trim(),
  seed,
  seconds,
  parts: results,
};
const text = textOf(whole);
const folder = join(root, ".cache", "faults");
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "report.json"), `${JSON.stringify(whole, null, 2)}\n`);
writeFileSync(join(folder, "report.txt"), text);
console.log(text);
process.exitCode = results.every(({ anomalies }) => anomalies.length === 0) ? 0 : 1;

function given() {
  const options = {
    minutes: { type: "string" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    count: { type: "string" },
    list: { type: "boolean", default: false },
  };
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    console.error(
      `${error.message}\nThere are --minutes N, --seed S, --only part,part, --count N and --list.`,
    );
    process.exit(2);
  }
}

function choose(only) {
  if (only === undefined) return PARTS;
  const names = only.split(",");
  const unknown = names.filter((name) => !PARTS.some((part) => part.name === name));
  if (unknown.length > 0) {
    console.error(`there is no part called ${unknown.join(", ")}; --list shows them`);
    process.exit(2);
  }
  return PARTS.filter(({ name }) => names.includes(name));
}

async function runAll() {
  const startMs = performance.now();
  const weights = chosen.reduce((sum, { weight }) => sum + weight, 0) || 1;
  const results = [];
  for (const part of chosen) {
    process.stderr.write(`${part.name}: ${part.says} …\n`);
    const budgetMs = (Number(values.minutes ?? 0) * 60_000 * part.weight) / weights;
    results.push(await runPart(part, amountOf(part, budgetMs)));
  }
  return { results, seconds: Math.round((performance.now() - startMs) / 1_000) };
}

function amountOf({ short, unitMs }, budgetMs) {
  if (values.count !== undefined) return { count: Number(values.count), seed, budgetMs: 0 };
  const fitting = unitMs === undefined ? 0 : Math.round(budgetMs / unitMs);
  return { count: Math.max(short, fitting), seed, budgetMs };
}

async function runPart(part, amount) {
  const startMs = performance.now();
  const { output, errors, code } = await run(part.command(amount));
  const seconds = Math.round((performance.now() - startMs) / 1_000);
  const { name, says, unit } = part;
  try {
    const report = part.read(output, code === 0, amount);
    const ended = code !== 0 && report.anomalies.length === 0 ? [failure(code, errors)] : [];
    return {
      name,
      says,
      unit,
      count: amount.count,
      seconds,
      ...report,
      anomalies: [...report.anomalies, ...ended],
    };
  } catch {
    // It ended before it could report: that is a finding, too.
    const anomalies = [failure(code, `${errors}\n${output}`)];
    return { name, says, unit, count: amount.count, seconds, faults: {}, checked: {}, anomalies, notes: [] };
  }
}

function failure(code, words) {
  return { class: "run-failed", says: `it ended with ${code}: ${shortened(words.trim())}` };
}

/** What happened stands at the beginning, where it led to at the end. */
function shortened(words) {
  return words.length < 2_400 ? words : `${words.slice(0, 1_600)}\n…\n${words.slice(-600)}`;
}

function run(args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      errors += text;
    });
    child.once("close", (code) => resolve({ output, errors, code }));
  });
}
