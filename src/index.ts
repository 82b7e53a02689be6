/** Promethean: a durable event bus with projections. */

export { Bus } from "./bus/bus.js";
export { createBus } from "./bus/create-bus.js";
export type { BusOptions } from "./bus/options.js";
export { outboxEntry } from "./bus/outbox-entry.js";
export { withTracing } from "./bus/tracing.js";
export { type Assignment, PartitionCoordinator } from "./consume/coordinator.js";
export type { Middleware, PublishRequest } from "./consume/middleware.js";
export { type PartitionOptions, subscribePartitioned, withPartitioning } from "./consume/partitioned.js";
export { InMemoryCursorStore, InMemoryEventBus, InMemoryEventStore } from "./in-memory.js";
export { type Clock, systemClock } from "./model/clock.js";
export type { DeadLetter } from "./model/dead-letter.js";
export { BusError, type ErrorCode, Fatal } from "./model/errors.js";
export type { EventRecord, Seq } from "./model/event.js";
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
export { DEFAULT_LIMITS, type Limits } from "./model/limits.js";
export type { Meter } from "./model/meter.js";
export { jumpHash } from "./model/partition.js";
export type { RetryPolicy } from "./model/retry.js";
export type { Handle, TaskReport, TaskState } from "./model/task.js";
export {
  defineTopic,
  type TopicConfig,
  type TopicDefinition,
  type TopicLayout,
  type TopicOptions,
  type TopicRef,
} from "./model/topic.js";
export type { Trouble } from "./model/trouble.js";
export type { CursorStore, EventStore, ScanParams } from "./ports/event-store.js";
export type { OutboxEntry } from "./ports/outbox.js";
export type { Capabilities, Store } from "./ports/store.js";
export { type ChangelogOptions, startChangelogProjector } from "./project/changelog.js";
export {
  type CompactionOptions,
  type CompactorOptions,
  type CompactorStats,
  compactNow,
  startCompactor,
} from "./project/compactor.js";
export {
  deadLetters,
  discardDeadLetters,
  type Letter,
  type LetterQuery,
  type LetterSummary,
  summarizeDeadLetters,
} from "./project/dead-letters.js";
export { type ExportOptions, exportEvents } from "./project/export-events.js";
export type { MovedGroup, MoveGroupOptions } from "./project/group-move.js";
export {
  type Imported,
  type ImportOptions,
  importEvents,
  type NdjsonSource,
} from "./project/import-events.js";
export { type OutboxDrainerOptions, runOutboxDrainer } from "./project/outbox-drainer.js";
export { type PastView, viewAt } from "./project/past-view.js";
export { type HeartbeatSourceOptions, startHeartbeatSource } from "./project/process/heartbeat-source.js";
export { startHostSummary } from "./project/process/host-summary.js";
export { startProcessChangelog } from "./project/process/process-changelog.js";
export { type ProcessProjectorOptions, startProcessProjector } from "./project/process/process-projector.js";
export type { Heartbeat, ProcessState } from "./project/process/process-topics.js";
export {
  type RebuildHandle,
  type RebuildOptions,
  type RebuildResult,
  rebuildView,
} from "./project/rebuild.js";
export { type RedriveOptions, type RedriveResult, redrive } from "./project/redrive.js";
export { type Copied, type CopyOptions, replay } from "./project/replay.js";
export {
  type RetentionOptions,
  type RetentionStats,
  retainNow,
  startRetention,
  type UnreadEvents,
} from "./project/retention.js";
export type { SnapshotEntry } from "./project/snapshot.js";
export { history, type KeyHistoryOptions, stateAt } from "./project/time-travel.js";
export type { Position } from "./project/topic-position.js";
export type { Transaction, TransactionView } from "./project/transaction.js";
export { startTransactionalProjector, type TransactionalOptions } from "./project/transactional.js";
export type { TransactionContext } from "./project/transactional-context.js";
export { type VerifiedGroup, verifyGroup } from "./project/verify.js";
export type { FindOptions, View, ViewPage, ViewRecord } from "./project/view.js";
export type { ViewSource } from "./project/view-definitions.js";
export type { ViewConditions, ViewField } from "./project/view-fields.js";
export { type RemovedView, type RemoveViewOptions, removeView } from "./project/view-removal.js";
export { type RollbackOptions, type RolledBackView, rollbackView } from "./project/view-rollback.js";
export { type Warmed, type WarmOptions, warmView } from "./project/warm.js";
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
