/** Bounds on everything that could grow (P13). A bus may tighten or widen them; nothing is unbounded. */

export interface Limits {
  /** JSON text of one payload, in UTF-8 bytes. */
  readonly maxPayloadBytes: number;
  /** Headers, tags and causes of one event together, in characters. */
  readonly maxMetaChars: number;
  readonly maxKeyBytes: number;
  readonly maxIdBytes: number;
  /** Nesting of arrays and objects in a payload. */
  readonly maxPayloadDepth: number;
  /** Events waiting in all publish queues of a bus; one more is refused with QUEUE_FULL. */
  readonly maxQueuedEvents: number;
  readonly maxQueuedBytes: number;
  /** Events and bytes handed to the store in one append. */
  readonly maxBatchEvents: number;
  readonly maxBatchBytes: number;
  readonly maxPartitions: number;
  /** Events of a partition that a group holds in memory, waiting or running. */
  readonly maxBufferedEvents: number;
  readonly maxBufferedBytes: number;
  /** Distance between a cursor's floor and the newest event it has taken in. */
  readonly maxSpan: number;
  /** Newest events of all partitions kept in memory for groups near the head. */
  readonly maxTailEvents: number;
  readonly maxTailBytes: number;
}

/** What a bus takes unless it is told otherwise. */
export const DEFAULT_LIMITS: Limits = {
  maxPayloadBytes: 1_048_576,
  maxMetaChars: 16_384,
  maxKeyBytes: 1_024,
  maxIdBytes: 200,
  maxPayloadDepth: 64,
  maxQueuedEvents: 100_000,
  maxQueuedBytes: 128 * 1_048_576,
  maxBatchEvents: 512,
  maxBatchBytes: 4 * 1_048_576,
  maxPartitions: 1_024,
  maxBufferedEvents: 4_000,
  maxBufferedBytes: 16 * 1_048_576,
  maxSpan: 20_000,
  // More would outlive two collections of young objects before they go, and be collected with the old ones instead.
  maxTailEvents: 4_096,
  maxTailBytes: 64 * 1_048_576,
};
