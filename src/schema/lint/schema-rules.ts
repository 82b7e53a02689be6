/** What is wrong with the working tree's schemas, held against those that were released. Pure. */
import { BusError } from "../../model/errors.js";
import { checkTrees } from "../compare/compatibility.js";
import { normalize } from "../reading/normalize.js";
import { decideRegistration, type TopicSchema } from "../registry/registration.js";
import { type SchemaVersion, takesOlder } from "../registry/schema-version.js";
import { type Baseline, UNVERSIONED } from "./baseline.js";
import type { LintFinding, LintRule } from "./finding.js";
import type { UnversionedSchema, WorkingSchemas } from "./working-schemas.js";

type WorkingVersion = WorkingSchemas["versions"][number];

export function schemaFindings(working: WorkingSchemas, baseline: Baseline): LintFinding[] {
  return [
    ...topicsOf(working).flatMap(([topic, versions]) => registrations(baseline.get(topic) ?? [], versions)),
    ...working.unversioned.flatMap((schema) => unversionedFindings(schema, baseline)),
    ...upcastFindings(working),
  ];
}

function topicsOf({ versions }: WorkingSchemas): [string, WorkingVersion[]][] {
  const topics = new Map<string, WorkingVersion[]>();
  for (const version of versions) topics.set(version.topic, [...(topics.get(version.topic) ?? []), version]);
  return [...topics];
}

/** Registers the working versions after the released ones, on paper; what that says is the finding. */
function registrations(released: readonly SchemaVersion[], wanted: readonly WorkingVersion[]): LintFinding[] {
  let present = released.filter(({ version }) => version !== UNVERSIONED);
  const findings: LintFinding[] = [];
  for (const { file, waive, ...rest } of wanted) {
    const schema: TopicSchema = { ...rest, ...(waive !== undefined && { waive }) };
    try {
      const decision = decideRegistration(present, schema);
      if (decision.type === "new") present = [...present, decision.version];
    } catch (error) {
      findings.push(refusal(BusError.from(error), rest, file));
    }
  }
  return findings;
}

function refusal(
  error: BusError,
  { topic, version }: { topic: string; version: number },
  file: string,
): LintFinding {
  const { verdict, against, findings } = (error.details ?? {}) as {
    verdict?: string;
    against?: number;
    findings?: unknown;
  };
  return {
    rule: ruleOf(error, verdict),
    message: error.message,
    topic,
    version,
    file,
    line: 1,
    column: 1,
    ...(against !== undefined && { details: { against, findings } }),
  };
}

function ruleOf(error: BusError, verdict: string | undefined): LintRule {
  if (error.code === "SCHEMA_INCOMPATIBLE") {
    return verdict === "incompatible" ? "schema-incompatible" : "schema-unknown";
  }
  if (error.code !== "SCHEMA_CONFLICT") return "schema-load";
  return error.details?.latest === undefined ? "schema-changed" : "schema-order";
}

/** A definition has no versions: its schema may only change so that it takes what was written before. */
function unversionedFindings({ topic, schema, file }: UnversionedSchema, baseline: Baseline): LintFinding[] {
  const before = baseline.get(topic)?.at(-1);
  if (before === undefined) return [];
  const report = checkTrees(before.tree, normalize(schema), "backward");
  const first = report.findings.find(({ verdict }) => verdict === report.verdict);
  if (first === undefined || sameJson(before, schema)) return [];
  const incompatible = report.verdict === "incompatible";
  const how = incompatible
    ? "does not take what was written before"
    : "may not take what was written before, which cannot be told";
  return [
    {
      rule: incompatible ? "schema-incompatible" : "schema-unknown",
      message: `the schema of "${topic}" ${how}: at ${first.path}, ${first.rule}`,
      topic,
      file,
      line: 1,
      column: 1,
      details: { against: before.version, findings: report.findings },
    },
  ];
}

function sameJson(before: SchemaVersion, schema: UnversionedSchema["schema"]): boolean {
  const wanted = { topic: before.topic, version: before.version || 1, compat: before.compat, schema };
  try {
    const known = decideRegistration([], wanted);
    return JSON.stringify(known.version.jsonSchema) === JSON.stringify(before.jsonSchema);
  } catch {
    return false;
  }
}

/** Where a project has upcasts, every version needs one to the next, unless that takes what it wrote. */
function upcastFindings(working: WorkingSchemas): LintFinding[] {
  if (working.upcasts.length === 0) return [];
  return topicsOf(working).flatMap(([topic, versions]) => {
    const missing = versions.flatMap(({ version }, i) => {
      const next = versions[i + 1];
      return next === undefined || takesOlder(next.compat)
        ? []
        : gapsIn(working.upcasts, topic, version, next.version);
    });
    return missing.map(({ from, to }) => ({
      rule: "upcast-missing" as const,
      message: `"${topic}" has no ${to === from + 1 ? "upcast" : "upcasts"} from version ${from} to ${to}: older events cannot be read`,
      topic,
      version: from,
      file: versions.at(-1)?.file ?? "",
      line: 1,
      column: 1,
    }));
  });
}

/** Versions that are further apart are not looked through one by one: they may be dates. */
const MAX_APART = 1_000;

/** Stretches between two versions that follow each other through which no chain has a step. */
function gapsIn(
  chains: WorkingSchemas["upcasts"],
  topic: string,
  older: number,
  newer: number,
): readonly { readonly from: number; readonly to: number }[] {
  const end = Math.min(newer, older + MAX_APART);
  const [first = new Set<number>(), ...others] = chains.map(
    (chain) => new Set(chain.missing(topic, older, end)),
  );
  const gaps: { from: number; to: number }[] = [];
  for (const from of [...first].filter((version) => others.every((missing) => missing.has(version)))) {
    const to = from + 1 === end ? newer : from + 1;
    const last = gaps.at(-1);
    if (last?.to === from) last.to = to;
    else gaps.push({ from, to });
  }
  return gaps;
}
