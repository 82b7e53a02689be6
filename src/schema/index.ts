/** Schemas of topics: versions, compatibility, validation, evolution. */
export type { SchemaSource, Validated } from "./catalog.js";
export {
  type CompatFinding,
  type CompatMode,
  type CompatReport,
  type CompatVerdict,
  checkCompat,
  type ObjectReport,
} from "./compatibility.js";
export { type DualWriteOptions, startDualWriteMirror, withDualWrite } from "./dual-write.js";
export {
  type DualWriteCheck,
  type DualWriteCheckOptions,
  type UnmatchedEvent,
  verifyDualWrite,
} from "./dual-write-check.js";
export type { EvolutionStage } from "./evolution-stage.js";
export type { LintTarget } from "./lint/event-replay.js";
export type { LintFinding, LintRule } from "./lint/finding.js";
export { type LintedTopic, type LintOptions, type LintReport, lintProject } from "./lint/lint.js";
export type { Place } from "./lint/project.js";
export { githubAnnotations, reportText as lintReportText } from "./lint/report-text.js";
export { type HubReader, hubTarget, storeTarget } from "./lint/targets.js";
export { toJsonSchema } from "./normalize.js";
export type { CheckedPayload, PayloadCheck } from "./payload-check.js";
export type { TopicSchema } from "./registration.js";
export { SchemaRegistry } from "./registry.js";
export { type OpenSchemasOptions, openSchemas, type SchemaHost } from "./schema-following.js";
export type { JsonSchema, JsonSchemaObject, SchemaInput } from "./schema-input.js";
export {
  type ReaderStatus,
  type SchemaStatusOptions,
  type SecondTopicStatus,
  type StatusHost,
  schemaStatus,
  type TopicSchemaStatus,
  type VersionStatus,
} from "./schema-status.js";
export type { Compat, SchemaVersion } from "./schema-version.js";
export { type StoredSchemaOptions, StoredSchemaRegistry } from "./stored-registry.js";
export { type NormalizedOptions, subscribeNormalized } from "./subscribe-normalized.js";
export { type NormalizeOptions, normalizeEvent, UpcastChain, type UpcastStep } from "./upcast.js";
export {
  type Enforcement,
  type SchemaObservation,
  type ValidationOptions,
  withSchemaValidation,
} from "./validation-layer.js";
export type { Violation } from "./validator.js";
export { type CountsByVersion, countVersions, type VersionCounts } from "./version-counts.js";
export { SCHEMA_VERSION_HEADER, versionedTopic } from "./versioned-topic.js";
