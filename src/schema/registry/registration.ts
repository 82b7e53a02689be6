/**
 * What happens to a version that asks to be registered, given those that are there. Pure: no store, no clock.
 *
 * 1. Versions grow. One that is there already stays as it is: the same again changes nothing, another is a conflict.
 * 2. A new one must be to its predecessor, or to all of them, what its `compat` says.
 * 3. What cannot be told counts as broken, unless `waive` says why it may be. What is broken cannot be waived.
 */
import { BusError } from "../../model/errors.js";
import { canonicalText } from "../../model/json.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import { checkTopicName, topicName } from "../../model/topic.js";
import {
  type CompatFinding,
  type CompatMode,
  type CompatReport,
  checkTrees,
} from "../compare/compatibility.js";
import { BY_UNITS } from "../patterns/pattern-syntax.js";
import { readyParserOf } from "../payload/validator.js";
import { checkSchemaInput, type SchemaInput } from "../reading/schema-input.js";
import { shorten } from "../tree/describe-node.js";
import { formsOf } from "../tree/rewrite.js";
import type { Node } from "../tree/tree.js";
import { type Compat, isCompat, SchemaVersion } from "./schema-version.js";
import { MAX_VERSION } from "./versioned-topic.js";

export interface NamedTopic {
  readonly name: string;
}

/** A version of a topic's schema, to be registered. */
export interface TopicSchema<T = unknown> {
  /** Its name, or its definition. */
  readonly topic: string | NamedTopic;
  /** 1, 2, 3 …; gaps are allowed. Nine digits at most. */
  readonly version: number;
  readonly schema: SchemaInput<T>;
  /** Default "backward". */
  readonly compat?: Compat;
  /** Why this version is compatible although that cannot be told from the schemas: code decides. */
  readonly waive?: string;
}

const MEMBERS = namesOf<TopicSchema>({
  topic: true,
  version: true,
  schema: true,
  compat: true,
  waive: true,
});

export type Registration =
  | { readonly type: "new"; readonly version: SchemaVersion; readonly expectedLatest: number }
  /** It is there; `version` carries the schema that was just given, code included. */
  | { readonly type: "known"; readonly version: SchemaVersion };

/**
 * `present`: the versions of `topic`, ascending; `topic`: what `topicOf` said of `wanted`, for those who asked it for these. Throws
 * SCHEMA_CONFLICT, SCHEMA_INCOMPATIBLE, INVALID_OPTION.
 */
export function decideRegistration(
  present: readonly SchemaVersion[],
  wanted: TopicSchema,
  topic = topicOf(wanted),
): Registration {
  const version = versionOf(wanted, topic);
  const same = present.find((each) => each.version === version.version);
  if (same !== undefined) return { type: "known", version: sameAgain(same, version) };
  const latest = present.at(-1)?.version ?? 0;
  if (version.version < latest) {
    throw new BusError(
      "SCHEMA_CONFLICT",
      `versions of a schema grow: "${version.topic}" is at version ${latest}, so ${version.version} comes too late`,
      { details: { topic: version.topic, version: version.version, latest } },
    );
  }
  for (const older of comparedWith(present, version.compat)) checkAgainst(older, version);
  return { type: "new", version, expectedLatest: latest };
}

/** How a version would do, without registering it: one report for each older version it is held against. */
export function reportRegistration(
  present: readonly SchemaVersion[],
  wanted: TopicSchema,
  topic = topicOf(wanted),
): readonly { readonly against: number; readonly report: CompatReport }[] {
  const version = versionOf(wanted, topic);
  const older = present.filter((each) => each.version < version.version);
  return comparedWith(older, version.compat).map((each) => ({
    against: each.version,
    report: checkTrees(each.tree, version.tree, modeOf(version.compat)),
  }));
}

/** The name of the topic that it is a version for. Throws unless it can be one. */
export function topicOf(wanted: TopicSchema): string {
  checkOptionNames("a schema to be registered", wanted, MEMBERS);
  const topic = topicName(wanted.topic);
  checkTopicName(topic);
  return topic;
}

function versionOf(wanted: TopicSchema, topic: string): SchemaVersion {
  const { version, compat = "backward", schema, waive } = wanted;
  if (!Number.isSafeInteger(version) || version < 1 || version > MAX_VERSION) {
    throw new BusError(
      "INVALID_OPTION",
      `the version of a schema is a whole number from 1 to ${MAX_VERSION}, not ${shorten(version)}`,
    );
  }
  if (!isCompat(compat)) {
    throw new BusError(
      "INVALID_OPTION",
      `${shorten(compat)} is not none, backward, forward or full, with or without -transitive`,
    );
  }
  if (waive !== undefined && (typeof waive !== "string" || waive.trim() === "")) {
    throw new BusError("INVALID_OPTION", "waive says in words why the version is compatible");
  }
  checkSchemaInput(schema);
  const parse = readyParserOf(schema);
  return new SchemaVersion({ topic, version, compat, schema, waive, declared: true, parse });
}

function modeOf(compat: Compat): CompatMode {
  return compat.replace("-transitive", "") as CompatMode;
}

function comparedWith(present: readonly SchemaVersion[], compat: Compat): readonly SchemaVersion[] {
  if (compat === "none") return [];
  return compat.endsWith("-transitive") ? present : present.slice(-1);
}

/** Another spelling of the same set is the same schema: a newer Zod may export it differently. */
function sameAgain(known: SchemaVersion, given: SchemaVersion): SchemaVersion {
  const alike = unmarkedText(known) === unmarkedText(given) || saysTheSame(known.tree, given.tree);
  if (alike && known.compat === given.compat) return given;
  throw new BusError(
    "SCHEMA_CONFLICT",
    alike
      ? `version ${known.version} of "${known.topic}" is registered with compat ${known.compat}, not ${given.compat}`
      : `version ${known.version} of "${known.topic}" is registered with another schema; a changed schema is a new version`,
    { details: { topic: known.topic, version: known.version } },
  );
}

/** Stores that were written before patterns said how they are read do not have that mark. */
function unmarkedText({ jsonSchema }: SchemaVersion): string {
  return canonicalText(jsonSchema).replaceAll(`"pattern":"${BY_UNITS}`, '"pattern":"');
}

function saysTheSame(a: Node, b: Node): boolean {
  const [ours, theirs] = [formsOf(a), formsOf(b)];
  const equal = (x: Node, y: Node): boolean => checkTrees(x, y, "full").verdict === "compatible";
  return equal(ours.read, theirs.read) && equal(ours.written, theirs.written);
}

function checkAgainst(older: SchemaVersion, version: SchemaVersion): void {
  const report = checkTrees(older.tree, version.tree, modeOf(version.compat));
  if (report.verdict === "compatible" || (report.verdict === "unknown" && version.waive !== undefined))
    return;
  const named = `version ${version.version} of "${version.topic}"`;
  const against = `${report.mode} compatible with version ${older.version}`;
  const first = report.findings.find(({ verdict }) => verdict === report.verdict);
  const why = first === undefined ? "" : `: ${sentence(first)}`;
  throw new BusError(
    "SCHEMA_INCOMPATIBLE",
    report.verdict === "incompatible"
      ? `${named} is not ${against}${why}`
      : `it cannot be told whether ${named} is ${against}${why}. If it is, say why with "waive"`,
    { details: { topic: version.topic, version: version.version, against: older.version, ...report } },
  );
}

function sentence({ path, rule, counterExample }: CompatFinding): string {
  return `at ${path}, ${rule}${counterExample === undefined ? "" : `; for example ${shorten(counterExample)}`}`;
}
