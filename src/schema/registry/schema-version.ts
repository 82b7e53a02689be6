/** One registered version of a topic's schema: what others store of it, and what this process can do with it. */
import { BusError } from "../../model/errors.js";
import type { JsonValue } from "../../model/json.js";
import type { SchemaEntry } from "../../ports/registry.js";
import { type PayloadCheck, payloadCheck } from "../payload/payload-check.js";
import type { Parse } from "../payload/validator.js";
import { normalize, toJsonSchema } from "../reading/normalize.js";
import { withoutLocalKeys } from "../reading/opaque-mark.js";
import { isJsonSchema, type JsonSchema, type SchemaInput } from "../reading/schema-input.js";
import type { Node } from "../tree/tree.js";

const MODES = [
  "none",
  "backward",
  "forward",
  "full",
  "backward-transitive",
  "forward-transitive",
  "full-transitive",
] as const;

/** What a version must be to the one before it; transitive: to all before it. */
export type Compat = (typeof MODES)[number];

export function isCompat(value: unknown): value is Compat {
  return MODES.includes(value as Compat);
}

/** Whether a version of this kind takes what the one before it wrote. */
export function takesOlder(compat: Compat): boolean {
  return /^(backward|full)/.test(compat);
}

export interface SchemaVersionParts {
  readonly topic: string;
  readonly version: number;
  readonly compat: Compat;
  readonly schema: SchemaInput;
  readonly waive: string | undefined;
  readonly declared: boolean;
  /** The schema's, if it is at hand. */
  readonly parse?: Parse;
}

/** One version of a topic's schema: what it takes, and what it makes of it. */
export class SchemaVersion {
  readonly topic: string;
  readonly version: number;
  readonly compat: Compat;
  /** Whether this process brought the schema itself; else it was found in the store. */
  readonly declared: boolean;
  /** Why its compatibility was taken on trust. */
  readonly waive: string | undefined;
  /** The schema as it was given; JSON Schema if it comes from elsewhere. */
  readonly schema: SchemaInput;
  readonly jsonSchema: JsonSchema;
  readonly tree: Node;
  /** Whether a payload fits, and what is stored of it. */
  readonly check: PayloadCheck;

  constructor(o: SchemaVersionParts) {
    this.topic = o.topic;
    this.version = o.version;
    this.compat = o.compat;
    this.waive = o.waive;
    this.declared = o.declared;
    this.schema = o.schema;
    const exported = toJsonSchema(o.schema);
    this.tree = normalize(exported);
    this.jsonSchema = typeof exported === "boolean" ? exported : withoutLocalKeys(exported);
    this.check = payloadCheck(o.schema, this.tree, o.parse);
  }

  /** As found in a store. STORE_INCOMPATIBLE if a newer release wrote it in a way that is not understood. */
  static fromEntry(entry: SchemaEntry): SchemaVersion {
    const document = entry.document as { readonly schema?: JsonSchema; readonly waive?: string };
    if (document === null || !isCompat(entry.compat) || !isJsonSchema(document.schema)) {
      throw new BusError(
        "STORE_INCOMPATIBLE",
        `version ${entry.version} of the schema of "${entry.topic}" is stored in a form that is not understood`,
      );
    }
    const { topic, version, compat } = entry;
    const { schema, waive } = document;
    return new SchemaVersion({ topic, version, compat, schema, waive, declared: false });
  }

  toEntry(createdMs: number): SchemaEntry {
    const { topic, version, compat, waive } = this;
    const schema = this.jsonSchema as JsonValue;
    return { topic, version, compat, document: { schema, ...(waive !== undefined && { waive }) }, createdMs };
  }
}

/** Stored versions, ascending, by topic. */
export function versionsByTopic(entries: readonly SchemaEntry[]): Map<string, SchemaVersion[]> {
  const topics = new Map<string, SchemaVersion[]>();
  for (const entry of [...entries].sort((a, b) => a.version - b.version)) {
    const versions = topics.get(entry.topic) ?? [];
    topics.set(entry.topic, versions);
    versions.push(SchemaVersion.fromEntry(entry));
  }
  return topics;
}
