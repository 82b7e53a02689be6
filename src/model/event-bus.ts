/** The bus as its users see it: what they call, and what a handler is given. */
import type { EventRecord, Seq } from "./event.js";
import type { JsonBody } from "./json.js";
import type { RetryPolicy } from "./retry.js";
import type { TopicDefinition, TopicRef } from "./topic.js";

/** What a publisher may say of an event beside its payload. */
export interface PublishOptions {
  /** Idempotency key (P3); a UUIDv7 is made if absent. */
  readonly id?: string;
  /** Milliseconds since the epoch. Default: now. It never decides order. */
  readonly ts?: number;
  /** Events of one key stay in order (P4). */
  readonly key?: string;
  /** Text by name, for programs on the way. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For people, and for filters. */
  readonly tags?: readonly string[];
  /** Ids of the events that led to this one: what a trace follows. */
  readonly caused_by?: readonly string[];
  /** The session it happened in, if there is one: a trace can be asked for it. */
  readonly sid?: string;
  /** Chosen by key (or id) if absent. */
  readonly partition?: number;
}

/** One event of publishMany: its payload, and what a publisher may say beside it. */
export interface PublishItem<T = unknown> extends PublishOptions {
  readonly payload: T;
}

/** An event to be published with a payload as a log has it. */
export interface StoredItem {
  readonly body: JsonBody;
  readonly options: PublishOptions;
}

/** An event as published; `duplicate` if the id was there before and said the same. */
export type PublishedRecord<T = unknown> = EventRecord<T> & { readonly duplicate?: true };

/** Where an event stands. */
export type Place = Pick<EventRecord, "id" | "partition" | "seq" | "ts">;

/** Who waits for a publish. Exactly one of the two is called, once. */
export interface PublishWaiter {
  /** Nothing else is published along with it, as far as its publisher knows: it need not wait for others to go with. */
  readonly isAlone?: boolean;
  done(place: Place, duplicate: boolean): void;
  fail(error: unknown): void;
}

/** Where a group stands in a topic, by the newest event that is settled with all before it. */
export interface CursorPosition {
  readonly topic: string;
  /** The newest event below which everything is settled. */
  readonly lastId?: string;
  readonly lastTs?: number;
}

/** Where a group stands in one partition. */
export interface PartitionPosition {
  readonly partition: number;
  readonly floor: Seq;
  readonly head: Seq;
  /** Events not settled yet. */
  readonly lag: number;
  /** Handed out and not settled; known only of partitions that this bus owns. */
  readonly inFlight: number;
  readonly owner: string | null;
  readonly epoch: number;
}

/** Where a group stands in a topic, partition by partition. */
export interface GroupPosition extends CursorPosition {
  readonly partitions: readonly PartitionPosition[];
}

/**
 * Where to put a group's cursor: behind an event, at a time, or where it stood: what `getCursor` gave puts each partition exactly
 * there. Of a place without an event (`{ topic }`) nothing is settled yet.
 */
export type CursorTarget =
  | "earliest"
  | "latest"
  | {
      readonly topic?: string;
      readonly lastId?: string;
      readonly lastTs?: number;
      /** All partitions of the topic. They count before the rest. */
      readonly partitions?: readonly Pick<PartitionPosition, "partition" | "floor">[];
    };

/** What a handler is told of its delivery, and what it may do with it. */
export interface DeliveryContext {
  readonly topic: string;
  readonly group: string;
  /** 1 at first; more means that it may have been seen before (P5). */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly cursor: CursorPosition;
  /** Aborts when the deadline passes or the partition is lost: what is done after that does not count. */
  readonly signal: AbortSignal;
  /** The right to this partition; writes that carry it fail once somebody else owns it (P7). */
  readonly fence: { readonly partition: number; readonly epoch: number };
  /** Publishes with an id derived from (group, this event, call number): a redelivery never doubles it (P9). */
  emit<T>(
    topic: TopicRef<T>,
    payload: NoInfer<T>,
    options?: Omit<PublishOptions, "id">,
  ): Promise<PublishedRecord<T>>;
  /** Moves the ack deadline to `ms` from now. Throws LEASE_LOST if it passed. */
  extend(ms: number): void;
  /** Settles it now, in its attempt; LEASE_LOST in `err` if that is over (P6). */
  ack(): Promise<Ack>;
  /** Gives it back, likewise. Of the reason, one line of 500 characters is kept. */
  nack(reason?: string): Promise<Ack>;
}

/** What a handler of batches is told of its delivery, and what it may do with it. */
export interface BatchContext extends Omit<DeliveryContext, "attempt" | "ack" | "nack" | "emit"> {
  /** The attempt of each event, in the order of the events. */
  readonly attempts: readonly number[];
  /** As `emit`, for one event of the batch: a later batch may be cut differently. */
  emitFor<T>(
    event: EventRecord,
    topic: TopicRef<T>,
    payload: NoInfer<T>,
    options?: Omit<PublishOptions, "id">,
  ): Promise<PublishedRecord<T>>;
}

/** Handles one event. Returning acks it, throwing asks for another try, throwing Fatal gives it up at once. */
export type Handler<T = unknown> = (event: EventRecord<T>, ctx: DeliveryContext) => unknown;
/** Handles several events of one partition, in log order. If it throws, they come again one by one. */
export type BatchHandler<T = unknown> = (events: readonly EventRecord<T>[], ctx: BatchContext) => unknown;

/**
 * An event of one of these topics, given by their definitions: where the compiler knows their names, `event.topic` tells which
 * payload it has. Of a topic that is given by its name alone nothing is known.
 */
export type EventOf<D extends TopicRef> =
  D extends TopicDefinition<infer T, unknown, infer Name>
    ? EventRecord<T> & { readonly topic: Name }
    : EventRecord;

/** A handler of several topics. */
export type HandlerOf<D extends TopicRef> = (event: EventOf<D>, ctx: DeliveryContext) => unknown;
/** A handler of batches of these topics, with the payloads of all of them. */
export type BatchHandlerOf<D extends TopicRef> = (
  events: readonly EventOf<D>[],
  ctx: BatchContext,
) => unknown;

/** As HandlerOf, for topics of which some are given by name: what a handler says of their payloads is believed. */
type BelievedHandler = { handle(event: EventRecord, ctx: DeliveryContext): unknown }["handle"];
type BelievedBatchHandler = { handle(events: readonly EventRecord[], ctx: BatchContext): unknown }["handle"];

/**
 * The handler of what was subscribed to: of one topic or of names, with payloads `T`, or of a list of topics `D`. One type for
 * all of them, so that the compiler tells of a wrong option alone, and not of every way to subscribe.
 */
export type HandlerFor<D extends TopicRef, T> = [D] extends [string]
  ? Handler<T>
  : [Extract<D, string>] extends [never]
    ? HandlerOf<D>
    : BelievedHandler;
/** The same for batches. */
export type BatchHandlerFor<D extends TopicRef, T> = [D] extends [string]
  ? BatchHandler<T>
  : [Extract<D, string>] extends [never]
    ? BatchHandlerOf<D>
    : BelievedBatchHandler;

/** Where a subscription begins, how much it works on at once, and what becomes of events that fail. */
export interface SubscribeOptions {
  /** Where a group that is new to the topic begins. Default "latest". */
  readonly from?: "latest" | "earliest" | "ts" | "afterId";
  /** With `from: "ts"`: milliseconds since the epoch. */
  readonly ts?: number;
  /** With `from: "afterId"`: the id of an event. The group begins behind it, in other partitions from its time on. */
  readonly afterId?: string;
  /** Events read at once, and the most a batch handler gets. Default 100. */
  readonly batchSize?: number;
  /** Events this subscriber works on at once. Default 1,000. */
  readonly maxInFlight?: number;
  /** Default 30,000. */
  readonly ackTimeoutMs?: number;
  /** Default 5. */
  readonly maxAttempts?: number;
  /** How long to wait between tries. Default: 25 ms, then eight times as long each, 60 s at most. */
  readonly retry?: Partial<RetryPolicy>;
  /**
   * What becomes of an event after its last attempt. True: it goes to the dead letters and its key goes on; "hold": newer
   * events of its key follow it there, in order, until it is redriven or discarded (needs `ordering: "key"`, and the
   * same of all subscribers of a group); false: no dead letters, it is retried until it succeeds. Default true.
   */
  readonly deadLetter?: boolean | "hold";
  /** Default "key". The same for all subscribers of a group. */
  readonly ordering?: "key" | "partition" | "none";
  /** An event is settled by ack or nack, not by the handler's return. */
  readonly manualAck?: boolean;
  /** Events it refuses count as settled. The same for all subscribers of a group. */
  readonly filter?: (event: EventRecord) => boolean;
  /** Aborting it stops the subscription, as `stop()` does. */
  readonly signal?: AbortSignal;
}

/** The answer to an ack or nack. `err` begins with a stable code. */
export interface Ack {
  readonly id: string;
  readonly ok: boolean;
  readonly err?: string;
}

/** Ends a subscription: waits for what is running, commits, and gives the partitions back. Twice is harmless. */
export type Stop = () => Promise<void>;

/** Which events of a topic to read, without a group: from where, how many, of which partition. */
export interface ReadPosition {
  readonly from?: "earliest" | "latest" | "ts" | "afterId";
  readonly ts?: number;
  readonly afterId?: string;
  readonly limit?: number;
  readonly partition?: number;
  readonly filter?: (event: EventRecord) => boolean;
}

/** The small bus of the first days; the full one has more. */
export interface EventBus {
  /** The topic alone says what `T` is: a payload that lacks a member is an error, not another `T`. */
  publish<T>(topic: TopicRef<T>, payload: NoInfer<T>, options?: PublishOptions): Promise<PublishedRecord<T>>;
  subscribe<T = unknown>(
    topic: TopicRef<T> | readonly string[],
    group: string,
    handler: Handler<T>,
    options?: SubscribeOptions,
  ): Promise<Stop>;
  ack(topic: TopicRef, group: string, id: string): Promise<Ack>;
  nack(topic: TopicRef, group: string, id: string, reason?: string): Promise<Ack>;
  getCursor(topic: TopicRef, group: string): Promise<GroupPosition | null>;
  setCursor(topic: TopicRef, group: string, to: CursorTarget): Promise<void>;
}
