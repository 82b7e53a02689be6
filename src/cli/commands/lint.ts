/** `promethean lint`: a project's topics, headers and schemas, for people, programs and GitHub; 5 if there is a finding. */
import { readFile } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { z } from "zod";
import { type LintOptions, lintProject } from "../../schema/lint/lint.js";
import { githubAnnotations, reportText } from "../../schema/lint/report-text.js";
import { hubTarget } from "../../schema/lint/targets.js";
import { CliError, usageError } from "../exit.js";
import { EXIT } from "../exit-codes.js";
import { addClosingWords, newCommand } from "../own-command.js";
import { perform, type Session, withConnection } from "../session.js";

interface LintFlags {
  readonly tsconfig?: string;
  readonly schemas?: string[];
  readonly baseline?: string;
  readonly writeBaseline?: boolean;
  readonly replay?: number;
  readonly github?: boolean;
}

/** What package.json may say under `promethean.lint`; flags count before it. */
const Settings = z.strictObject({
  tsconfig: z.string().optional(),
  schemas: z.union([z.string().transform((one) => [one]), z.array(z.string())]).optional(),
  baseline: z.string().optional(),
});

export function lintCommand(): Command {
  const command = newCommand(
    "lint",
    "Checks the topics, headers and schemas of a project; exit code 5 if there is a finding.",
    [
      "promethean lint",
      "promethean lint --schemas src/schemas.ts --baseline schemas.json",
      "promethean lint --schemas src/schemas.ts --baseline schemas.json --write-baseline",
      "promethean lint --schemas src/schemas.ts --url https://hub.example --replay 1000 --github",
    ],
  );
  withConnection(command)
    .argument("[folder]", "the project", ".")
    .option("--tsconfig <file>", "the project's configuration; found from the folder upwards by default")
    .option("--schemas <module...>", "modules that export registries, definitions and upcasts; they are run")
    .option("--baseline <file>", "schemas that were released")
    .option("--write-baseline", "write the baseline anew, if the schemas may follow it")
    .option("--replay <n>", "newest stored events of each topic to try, with --url or --store", count, 100)
    .option("--github", "annotations for a GitHub workflow instead of words")
    .action(perform<LintFlags, [string]>(lint));
  addClosingWords(command, [
    'Flags may stand in package.json: { "promethean": { "lint": { "schemas": ["src/schemas.ts"], "baseline": "schemas.json" } } }.',
    "With --url or --store the schemas and newest events there are looked at; nothing is written.",
  ]);
  return command;
}

function count(text: string): number {
  const n = Number(text);
  if (Number.isSafeInteger(n) && n >= 0 && n <= 100_000) return n;
  throw new InvalidArgumentError("It is a number from 0 to 100000.");
}

async function lint(session: Session<LintFlags>, folder: string): Promise<void> {
  const { options, out } = session;
  if (options.json && options.github) throw usageError("--json and --github exclude each other");
  const report = await lintProject(await lintOptions(session, folder));
  if (options.github) {
    const annotations = githubAnnotations(report.findings, folderInRepository(folder));
    if (annotations !== "") out.line(annotations);
    process.stderr.write(`${reportText(report)}\n`);
  } else out.value(report, reportText(report));
  if (report.findings.length > 0) process.exitCode = EXIT.invalid;
}

async function lintOptions(session: Session<LintFlags>, folder: string): Promise<LintOptions> {
  const { options } = session;
  const settings = await settingsIn(folder);
  const { tsconfig = settings.tsconfig && join(folder, settings.tsconfig) } = options;
  // Paths in flags are from here, those in package.json from there.
  const here = (path: string): string => resolve(path);
  const schemas = options.schemas?.map(here) ?? settings.schemas;
  const baseline = options.baseline === undefined ? settings.baseline : here(options.baseline);
  const named = options.url ?? options.store ?? options.context;
  return {
    root: folder,
    ...(tsconfig !== undefined && { tsconfig }),
    ...(schemas !== undefined && { schemas }),
    ...(baseline !== undefined && { baseline }),
    ...(options.writeBaseline && { writeBaseline: true }),
    ...(options.replay !== undefined && { replay: options.replay }),
    // Only what is named: a hub that happens to run here is not what the project is released to.
    ...(named !== undefined && { target: hubTarget(await session.connect()) }),
  };
}

async function settingsIn(folder: string): Promise<z.output<typeof Settings>> {
  const path = join(folder, "package.json");
  const text = await readFile(path, "utf8").catch(() => "{}");
  const { promethean } = packageIn(text, path);
  const { success, data, error } = Settings.safeParse(promethean?.lint ?? {});
  if (success) return data;
  const [issue] = error.issues;
  const where = ["promethean", "lint", ...(issue?.path ?? [])].join(".");
  throw usageError(`${path}: ${where}: ${issue?.message ?? "not understood"}`);
}

function packageIn(text: string, path: string): { promethean?: { lint?: unknown } } {
  try {
    return JSON.parse(text) as { promethean?: { lint?: unknown } };
  } catch (error) {
    throw notJson(path, error);
  }
}

function notJson(path: string, cause: unknown): CliError {
  return new CliError("USAGE", `${path} is not JSON`, { cause });
}

/** Annotations name files from the repository's root, where workflows run. */
function folderInRepository(folder: string): string {
  const path = relative(process.cwd(), resolve(folder)).split(sep).join("/");
  return path.startsWith("..") ? "" : path;
}
