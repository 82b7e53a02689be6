/**
 * The lint: what a project's sources say about topics, its schemas against those that were released, and stored events
 * against its schemas. Nothing but the baseline is ever written.
 */
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { BusError } from "../../model/errors.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import { versionsByTopic } from "../registry/schema-version.js";
import { type Baseline, baselineText, parseBaseline } from "./baseline.js";
import { type LintTarget, replayNewest } from "./event-replay.js";
import { inOrder, type LintFinding } from "./finding.js";
import { openProject, type Place } from "./project.js";
import { schemaFindings } from "./schema-rules.js";
import { coveredTopics, isCovered, sourceFindings } from "./source-rules.js";
import { loadTypeScript } from "./typescript.js";
import { type Usage, usagesOf } from "./usages.js";
import { loadSchemas, type WorkingSchemas } from "./working-schemas.js";

/** Which project to look at, and against which schemas. */
export interface LintOptions {
  /** The folder of the project. */
  readonly root: string;
  /** Default: the one that is found from the folder upwards. */
  readonly tsconfig?: string;
  /** Modules that export registries, topic definitions and chains of upcasts; they are imported. */
  readonly schemas?: readonly string[];
  /** A file with the schemas that were released. */
  readonly baseline?: string;
  /** Writes the baseline anew if the schemas may follow it. */
  readonly writeBaseline?: boolean;
  /** A hub or a store: its schemas count as released, and its newest events are tried. */
  readonly target?: LintTarget;
  /** How many of the newest events of each topic. Default 100. */
  readonly replay?: number;
}

const OPTIONS = namesOf<LintOptions>({
  root: true,
  tsconfig: true,
  schemas: true,
  baseline: true,
  writeBaseline: true,
  target: true,
  replay: true,
});

/** A topic of the sources: whether it has a schema, and how many calls publish or subscribe to it. */
export interface LintedTopic {
  readonly topic: string;
  readonly hasSchema: boolean;
  readonly published: number;
  readonly subscribed: number;
}

/** What the lint found. */
export interface LintReport {
  readonly findings: readonly LintFinding[];
  /** Sources that were read. */
  readonly files: number;
  readonly topics: readonly LintedTopic[];
  /** Calls whose topic is made at run time. */
  readonly unresolved: readonly Place[];
  /** Stored events that were tried. */
  readonly replayed: number;
  /** The file that was written. */
  readonly written?: string;
}

/**
 * What `promethean lint` does, as a function: topics, headers and schemas of a project, read by the TypeScript compiler.
 *
 * @example
 * const { findings } = await lintProject({ root: ".", schemas: ["src/schemas.ts"], baseline: "schemas.json" });
 */
export async function lintProject(options: LintOptions): Promise<LintReport> {
  checkOptionNames("lintProject", options, OPTIONS);
  const compiler = await loadTypeScript(options.root);
  const project = openProject(compiler, options.root, options.tsconfig);
  const { found, unresolved } = usagesOf(project);
  const modules = options.schemas ?? [];
  const working = await loadSchemas({ project, typescript: compiler.url, modules });
  const file = await readBaseline(options);
  const baseline = merged(file, await targetBaseline(options.target));
  const schemas = [...working.failures, ...schemaFindings(working, baseline)];
  const limit = options.replay ?? 100;
  const replayed =
    options.target === undefined || limit === 0
      ? { events: 0, findings: [] }
      : await replayNewest(working, options.target, limit);
  const covered = coveredTopics(found, [...baseline.keys(), ...topicsIn(working)]);
  const findings = [
    ...sourceFindings(found, covered),
    ...[...schemas, ...replayed.findings].map((finding) => placed(finding, found)),
  ];
  const written = schemas.length === 0 ? await writeBaseline(options, file, working) : undefined;
  return {
    findings: inOrder(findings),
    files: project.sources.length,
    topics: summary(found, covered),
    unresolved,
    replayed: replayed.events,
    ...(written !== undefined && { written }),
  };
}

function topicsIn({ versions, unversioned }: WorkingSchemas): string[] {
  return [...versions, ...unversioned].map(({ topic }) => topic);
}

/** A finding about a schema stands where it is registered, or defined, if that place is known. */
function placed(finding: LintFinding, usages: readonly Usage[]): LintFinding {
  const { topic, version } = finding;
  const own = usages.filter((usage) => usage.topic === topic);
  const site =
    own.find((usage) => usage.kind === "register" && usage.version === version) ??
    own.findLast((usage) => usage.kind === "register") ??
    own.find((usage) => usage.kind === "define" && usage.hasSchema);
  return site === undefined ? finding : { ...finding, ...site.place };
}

async function readBaseline({ root, baseline, writeBaseline: writes }: LintOptions): Promise<Baseline> {
  if (baseline === undefined) return new Map();
  try {
    return parseBaseline(await readFile(resolve(root, baseline), "utf8"), baseline);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    if (writes !== true) throw noBaseline(baseline, error);
    return new Map();
  }
}

function noBaseline(name: string, cause: unknown): BusError {
  return new BusError("NOT_FOUND", `there is no baseline ${name}; --write-baseline writes one`, { cause });
}

async function targetBaseline(target: LintTarget | undefined): Promise<Baseline> {
  return target === undefined ? new Map() : versionsByTopic(await target.schemas());
}

/** What runs counts before what a file remembers. */
function merged(file: Baseline, target: Baseline): Baseline {
  const topics = new Map(file);
  for (const [topic, versions] of target) {
    const known = new Set(versions.map(({ version }) => version));
    const others = (file.get(topic) ?? []).filter(({ version }) => !known.has(version));
    topics.set(
      topic,
      [...others, ...versions].sort((a, b) => a.version - b.version),
    );
  }
  return topics;
}

async function writeBaseline(
  { root, baseline, writeBaseline: writes }: LintOptions,
  before: Baseline,
  working: WorkingSchemas,
): Promise<string | undefined> {
  if (writes !== true) return undefined;
  if (baseline === undefined)
    throw new BusError("INVALID_OPTION", "a baseline is written to a file: name it");
  await writeFile(resolve(root, baseline), baselineText(before, working));
  return baseline;
}

function summary(usages: readonly Usage[], covered: ReadonlySet<string>): LintedTopic[] {
  const names = [...new Set(usages.map(({ topic }) => topic))].sort();
  return names.map((topic) => {
    const own = usages.filter((usage) => usage.topic === topic);
    return {
      topic,
      hasSchema: isCovered(topic, covered),
      published: own.filter(({ kind }) => kind === "publish").length,
      subscribed: own.filter(({ kind }) => kind === "subscribe").length,
    };
  });
}
