/** The schemas that were released, in a file beside the sources: what the working tree's schemas are held against. */
import { BusError } from "../../model/errors.js";
import type { JsonValue } from "../../model/json.js";
import { toJsonSchema } from "../reading/normalize.js";
import { withoutLocalKeys } from "../reading/opaque-mark.js";
import { isJsonSchema, type JsonSchema, type SchemaInput } from "../reading/schema-input.js";
import { type Compat, isCompat, SchemaVersion } from "../registry/schema-version.js";
import type { WorkingSchemas } from "./working-schemas.js";

const FORMAT = "promethean-schemas/1";
/** Stands for the version of a definition, which has none. */
export const UNVERSIONED = 0;

/** The versions of each topic, ascending. */
export type Baseline = ReadonlyMap<string, readonly SchemaVersion[]>;

export interface BaselineVersion {
  readonly version: number;
  readonly compat: Compat;
  readonly schema: JsonSchema;
  readonly waive?: string;
}

export interface BaselineFile {
  readonly format: typeof FORMAT;
  readonly topics: Readonly<Record<string, readonly BaselineVersion[]>>;
}

/** INVALID_OPTION if it is not the text of a baseline. */
export function parseBaseline(text: string, name: string): Baseline {
  const file = parseJson(text, name) as Partial<BaselineFile> | null;
  if (file?.format !== FORMAT || typeof file.topics !== "object") throw notBaseline(name);
  const topics = Object.entries(file.topics).map(([topic, versions]) => {
    if (!Array.isArray(versions)) throw notBaseline(name);
    const list = versions.map((each: Partial<BaselineVersion>) => {
      const { version, compat, schema, waive } = each;
      if (!Number.isSafeInteger(version) || !isCompat(compat) || !isJsonSchema(schema))
        throw notBaseline(name);
      return versionOf(topic, { version: version as number, compat, schema, ...(waive && { waive }) });
    });
    return [topic, list.sort((a, b) => a.version - b.version)] as const;
  });
  return new Map(topics);
}

function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw notBaseline(name, error);
  }
}

function notBaseline(name: string, cause?: unknown): BusError {
  const message = `${name} is not a baseline of schemas; --write-baseline writes one`;
  return new BusError("INVALID_OPTION", message, { cause });
}

function versionOf(topic: string, { version, compat, schema, waive }: BaselineVersion): SchemaVersion {
  return new SchemaVersion({ topic, version, compat, schema, waive, declared: false });
}

/** The working tree as the next baseline; versions that it no longer has stay. Sorted, so that a diff says what changed. */
export function baselineText(before: Baseline, working: WorkingSchemas): string {
  const topics = new Map<string, Map<number, BaselineVersion>>();
  const put = (topic: string, version: BaselineVersion): void => {
    topics.set(topic, (topics.get(topic) ?? new Map()).set(version.version, version));
  };
  for (const [topic, versions] of before) for (const each of versions) put(topic, plain(each));
  for (const each of working.versions) put(each.topic, plain(each));
  for (const { topic, schema } of working.unversioned)
    put(topic, plain({ version: UNVERSIONED, compat: "backward", schema, waive: undefined }));
  const sorted = [...topics].sort(([a], [b]) => (a < b ? -1 : 1));
  const file: BaselineFile = {
    format: FORMAT,
    topics: Object.fromEntries(
      sorted.map(([topic, versions]) => [
        topic,
        [...versions.values()].sort((a, b) => a.version - b.version),
      ]),
    ),
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

interface Described {
  readonly version: number;
  readonly compat: Compat;
  readonly schema: SchemaInput;
  readonly waive: string | undefined;
}

function plain({ version, compat, schema, waive }: Described): BaselineVersion {
  const json = toJsonSchema(schema);
  const stored = typeof json === "boolean" ? json : withoutLocalKeys(json);
  return {
    version,
    compat,
    schema: JSON.parse(JSON.stringify(stored)) as JsonValue as JsonSchema,
    ...(waive !== undefined && { waive }),
  };
}
