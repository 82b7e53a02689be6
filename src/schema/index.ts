/** Schemas of topics: versions, compatibility, validation, evolution. */

export {
  type CompatFinding,
  type CompatMode,
  type CompatReport,
  type CompatVerdict,
  checkCompat,
  type ObjectReport,
} from "./compare/compatibility.js";
export { type DualWriteOptions, startDualWriteMirror, withDualWrite } from "./evolution/dual-write.js";
export {
  type DualWriteCheck,
  type DualWriteCheckOptions,
  type UnmatchedEvent,
  verifyDualWrite,
} from "./evolution/dual-write-check.js";
export type { EvolutionStage } from "./evolution/evolution-stage.js";
export {
  type ReaderStatus,
  type SchemaStatusOptions,
  type SecondTopicStatus,
  type StatusHost,
  schemaStatus,
  type TopicSchemaStatus,
  type VersionStatus,
} from "./evolution/schema-status.js";
export { type NormalizedOptions, subscribeNormalized } from "./evolution/subscribe-normalized.js";
export { type NormalizeOptions, normalizeEvent, UpcastChain, type UpcastStep } from "./evolution/upcast.js";
export type { LintTarget } from "./lint/event-replay.js";
export type { LintFinding, LintRule } from "./lint/finding.js";
export { type LintedTopic, type LintOptions, type LintReport, lintProject } from "./lint/lint.js";
export type { Place } from "./lint/project.js";
export { githubAnnotations, reportText as lintReportText } from "./lint/report-text.js";
export { type HubReader, hubTarget, storeTarget } from "./lint/targets.js";
export type { CheckedPayload, PayloadCheck } from "./payload/payload-check.js";
export type { Violation } from "./payload/validator.js";
export { toJsonSchema } from "./reading/normalize.js";
export type { JsonSchema, JsonSchemaObject, SchemaInput } from "./reading/schema-input.js";
export type { SchemaSource, Validated } from "./registry/catalog.js";
export type { TopicSchema } from "./registry/registration.js";
export { SchemaRegistry } from "./registry/registry.js";
export { type OpenSchemasOptions, openSchemas, type SchemaHost } from "./registry/schema-following.js";
export type { Compat, SchemaVersion } from "./registry/schema-version.js";
export { type StoredSchemaOptions, StoredSchemaRegistry } from "./registry/stored-registry.js";
export {
  type Enforcement,
  type SchemaObservation,
  type ValidationOptions,
  withSchemaValidation,
} from "./registry/validation-layer.js";
export { type CountsByVersion, countVersions, type VersionCounts } from "./registry/version-counts.js";
export { SCHEMA_VERSION_HEADER, versionedTopic } from "./registry/versioned-topic.js";
