/** Promethean: a durable event bus with projections. */

export type {
  Admin,
  BlockedPartition,
  GroupLag,
  GroupOnTopic,
  HeldKeyReport,
  PartitionLag,
  WhyReport,
} from "./bus/admin.js";
export { Bus } from "./bus/bus.js";
export { createBus } from "./bus/create-bus.js";
export type { RemovedGroup } from "./bus/group-removal.js";
export type { BusOptions } from "./bus/options.js";
export { outboxEntry } from "./bus/outbox-entry.js";
export type { RemovalProgress, RemovedTopic, RemoveTopicOptions } from "./bus/topic-removal.js";
export { withTracing } from "./bus/tracing.js";
export { type Assignment, PartitionCoordinator } from "./consume/coordinator.js";
export type { Middleware, PublishRequest } from "./consume/middleware.js";
export { type PartitionOptions, subscribePartitioned, withPartitioning } from "./consume/partitioned.js";
export { InMemoryCursorStore, InMemoryEventBus, InMemoryEventStore } from "./in-memory.js";
export { type CancelTimer, type Clock, systemClock } from "./model/clock.js";
export type { DeadLetter } from "./model/dead-letter.js";
export { BusError, type BusErrorOptions, type ErrorCode, Fatal } from "./model/errors.js";
export { type EventDraft, type EventMeta, type EventRecord, type Seq, StoredEvent } from "./model/event.js";
export type {
  Ack,
  BatchContext,
  BatchHandler,
  BatchHandlerOf,
  CursorPosition,
  CursorTarget,
  DeliveryContext,
  EventBus,
  EventOf,
  GroupPosition,
  Handler,
  HandlerOf,
  PartitionPosition,
  PublishedRecord,
  PublishItem,
  PublishOptions,
  ReadPosition,
  Stop,
  SubscribeOptions,
} from "./model/event-bus.js";
export { JsonBody, type JsonObject, type JsonValue } from "./model/json.js";
export { DEFAULT_LIMITS, type Limits } from "./model/limits.js";
export type { Meter, ValidationOutcome } from "./model/meter.js";
export { jumpHash } from "./model/partition.js";
export type { RetryPolicy } from "./model/retry.js";
export type { Handle, TaskReport, TaskState, TaskStats } from "./model/task.js";
export {
  defineTopic,
  type PayloadSchema,
  type SchemaIssue,
  type TopicConfig,
  type TopicDefinition,
  type TopicLayout,
  type TopicOptions,
  type TopicRef,
} from "./model/topic.js";
export type { Trouble } from "./model/trouble.js";
export type {
  DocumentPage,
  DocumentQuery,
  Documents,
  DocumentWrite,
  FieldCondition,
  FieldValue,
  Unit,
  ViewDocument,
  ViewIndex,
  ViewInfo,
  WriteResult,
} from "./ports/documents.js";
export type { CursorStore, EventStore, ScanParams } from "./ports/event-store.js";
export {
  type Attempt,
  type Claim,
  type Cursor,
  type CursorWrite,
  type Epoch,
  type Fence,
  type GroupChanges,
  type GroupPartition,
  type GroupRef,
  type GroupState,
  type Groups,
  type HeldKey,
  type Lease,
  type Session,
  START_CURSOR,
  type Timed,
} from "./ports/groups.js";
export type {
  AppendResult,
  HistoryOptions,
  Log,
  Page,
  PartitionHead,
  ReadOptions,
} from "./ports/log.js";
export type {
  ClaimOptions,
  OutboxClaim,
  OutboxEntry,
  OutboxFailure,
  OutboxRow,
  OutboxStats,
  OutboxStatus,
  OutboxStore,
} from "./ports/outbox.js";
export type { AuditEntry, Registry, SchemaEntry, Token } from "./ports/registry.js";
export type { Capabilities, Signal, Store } from "./ports/store.js";
export {
  type CompactionOptions,
  type CompactorOptions,
  type CompactorStats,
  compactNow,
  startCompactor,
} from "./project/history/compactor.js";
export type { SnapshotEntry } from "./project/history/snapshot.js";
export { history, type KeyHistoryOptions, stateAt } from "./project/history/time-travel.js";
export {
  type Hole,
  type VerifiedGroup,
  type VerifiedPartition,
  verifyGroup,
} from "./project/history/verify.js";
export {
  type DiscardOptions,
  deadLetters,
  discardDeadLetters,
  type Letter,
  type LetterQuery,
  type LetterStatus,
  type LetterSummary,
  summarizeDeadLetters,
} from "./project/letters/dead-letters.js";
export {
  type DocumentDifference,
  type RedriveOptions,
  type RedriveResult,
  redrive,
} from "./project/letters/redrive.js";
export {
  type OutboxDrainerOptions,
  type OutboxDrainerStats,
  runOutboxDrainer,
} from "./project/outbox-drainer.js";
export { type HeartbeatSourceOptions, startHeartbeatSource } from "./project/process/heartbeat-source.js";
export { startHostSummary } from "./project/process/host-summary.js";
export { startProcessChangelog } from "./project/process/process-changelog.js";
export { type ProcessProjectorOptions, startProcessProjector } from "./project/process/process-projector.js";
export type { Heartbeat, ProcessState } from "./project/process/process-topics.js";
export {
  type RebuildHandle,
  type RebuildOptions,
  type RebuildProgress,
  type RebuildResult,
  rebuildView,
} from "./project/rebuild/rebuild.js";
export type { ViewDifference } from "./project/rebuild/view-comparison.js";
export { type RollbackOptions, type RolledBackView, rollbackView } from "./project/rebuild/view-rollback.js";
export {
  type RetentionOptions,
  type RetentionRun,
  type RetentionStats,
  retainNow,
  startRetention,
  type UnreadEvents,
} from "./project/retention/retention.js";
export type { Position } from "./project/topic-position.js";
export { type ExportOptions, exportEvents } from "./project/transfer/export-events.js";
export type { MovedGroup, MovedPartition, MoveGroupOptions } from "./project/transfer/group-move.js";
export {
  type Imported,
  type ImportOptions,
  importEvents,
  type NdjsonSource,
} from "./project/transfer/import-events.js";
export { type Copied, type CopyOptions, replay } from "./project/transfer/replay.js";
export { type RemovedView, type RemoveViewOptions, removeView } from "./project/view-removal.js";
export {
  type ChangelogOptions,
  type ChangelogStats,
  startChangelogProjector,
} from "./project/views/changelog.js";
export { type PastFindOptions, type PastPage, type PastView, viewAt } from "./project/views/past-view.js";
export type { ProjectorSource } from "./project/views/projection.js";
export type { Transaction, TransactionView } from "./project/views/transaction.js";
export {
  startTransactionalProjector,
  type TransactionalOptions,
  type TransactionalStats,
} from "./project/views/transactional.js";
export type { TransactionContext } from "./project/views/transactional-context.js";
export type { FindOptions, View, ViewPage, ViewRecord } from "./project/views/view.js";
export type { ViewSource } from "./project/views/view-definitions.js";
export type { ViewConditions, ViewField } from "./project/views/view-fields.js";
export { type Warmed, type WarmOptions, warmView } from "./project/views/warm.js";
export * from "./schema/index.js";
export { memoryStore } from "./stores/memory/index.js";
export {
  exampleSchemas,
  HeartbeatReceived,
  type KvSet,
  KvSetTopic,
  ProcessStateTopic,
  Topics,
} from "./topics.js";
