/**
 * What the writing thread can be asked to do. Arguments and answers cross between threads: plain data only, and
 * whatever is stored as text (documents, cursors, entries) crosses as text.
 */
import type { Seq } from "../../model/event.js";
import type { TopicConfig } from "../../model/topic.js";
import type { ViewIndex, WriteResult } from "../../ports/documents.js";
import type { Epoch, Fence, GroupPartition, GroupRef, Session } from "../../ports/groups.js";
import type { ClaimOptions, OutboxClaim, OutboxEntry, OutboxFailure } from "../../ports/outbox.js";
import type { ViewWrites } from "./documents/document-message.js";
import type { PackedError } from "./errors.js";
import type { IndexSizes } from "./indexes/index-merger.js";

export interface AppendRequest {
  readonly topic: string;
  readonly partition: number;
  readonly buffer: ArrayBuffer;
  /** Where the batches lie in the buffer: see encoder. */
  readonly layout: readonly number[];
  /** Which ids may be in the store already, by index; none if the bus just made them all. */
  readonly check: "all" | "none" | readonly number[];
  readonly fence: Fence | undefined;
}

/** A draft whose id was there before: as an event of the log, or earlier in the same request. */
export interface Duplicate {
  readonly index: number;
  readonly sameAs?: number;
  readonly event?: {
    readonly topic: string;
    readonly partition: number;
    readonly seq: Seq;
    readonly ids: Uint8Array;
    readonly data: Uint8Array;
  };
}

export interface AppendAnswer {
  /** Seq of the first new event; the others follow, in order. */
  readonly firstSeq: Seq;
  /** Absent if there are none. */
  readonly duplicates?: readonly Duplicate[];
}

export interface Slice {
  readonly removed: number;
  readonly done: boolean;
}

/** The cursor as text, with where it belongs. */
export interface CursorText {
  readonly ref: GroupPartition;
  readonly epoch: Epoch;
  readonly cursor: string;
  /** The cursor's floor. */
  readonly floor: Seq;
  /** The floor that must be stored now. */
  readonly expectedFloor?: Seq | undefined;
}

export interface Operations {
  append(request: AppendRequest): AppendAnswer;
  trim(o: { topic: string; partition: number; through: Seq }): Slice;
  remove(o: { topic: string; partition: number; seqs: readonly Seq[] }): number;
  markDamage(o: { part: number; firstSeq: Seq; lastSeq: Seq }): void;
  /** `filling`: its number, see topics. Nothing is done for one that is over. */
  fillKeys(o: { topic: string; part: number; after: Seq; filling: number }): { through: Seq | null };
  keysFilled(o: { topic: string; filling: number }): void;

  openSession(o: { session: Session; process: string | null; nowMs: number; ttlMs: number }): GroupRef[];
  beat(o: { member: string; nowMs: number; ttlMs: number }): boolean;
  closeSession(o: { member: string }): GroupRef[];
  join(o: { ref: GroupRef; member: string }): boolean;
  leave(o: { ref: GroupRef; member: string }): boolean;
  start(o: { ref: GroupRef; floors: readonly Seq[] }): boolean;
  claim(o: { ref: GroupPartition; member: string; nowMs: number }): {
    epoch: Epoch;
    cursor: string;
    clean: boolean;
  } | null;
  commit(o: CursorText): void;
  release(o: CursorText): void;
  move(o: { ref: GroupPartition; cursor: string }): void;
  removeGroup(o: { ref: GroupRef }): boolean;

  defineView(o: { view: string; indexes: readonly ViewIndex[] }): void;
  writeDocuments(o: { parts: readonly ViewWrites[]; cursor: CursorText | undefined }): WriteResult;
  dropView(o: { view: string }): void;
  purgeView(o: { view: string; beforeTs: number }): number;

  outboxAdd(o: { entry: OutboxEntry; nowMs: number }): boolean;
  outboxClaim(o: ClaimOptions & { count: number; claim: string }): OutboxClaim[];
  outboxSent(o: { id: string; token: string; nowMs: number }): boolean;
  outboxError(o: Required<OutboxFailure> & { id: string; token: string }): boolean;
  outboxExpire(o: { nowMs: number }): number;
  outboxRequeue(o: { ids: readonly string[] | undefined }): number;
  outboxDiscard(o: { ids: readonly string[] }): number;
  outboxPurge(o: { sentBeforeMs: number }): number;

  defineTopic(o: { config: TopicConfig; ifAbsent: boolean }): { config: TopicConfig; changed: boolean };
  /** `removedAt`: the sum of its heads. */
  removeTopic(o: { topic: string; removedAt: number }): boolean;
  putSchema(o: { topic: string; version: number; entry: string; expectedLatest: number }): void;
  putToken(o: { name: string; value: string | null; expected: number }): number;
  audit(o: { entry: string }): void;
  trimAudits(o: { beforeMs: number }): number;
}

export type OperationName = keyof Operations;
export type ArgumentOf<K extends OperationName> = Parameters<Operations[K]>[0];
export type AnswerOf<K extends OperationName> = ReturnType<Operations[K]>;

export interface Request {
  readonly number: number;
  readonly name: OperationName;
  readonly argument: unknown;
}

export type Reply =
  | { readonly number: number; readonly answer: unknown }
  | { readonly number: number; readonly error: PackedError };

/**
 * To the writing thread: requests, or to take over what is in the file ahead, or whether to look for what other processes
 * commit while there is nothing to write, or to finish, put everything into the main file, and close, or to end as it is.
 *
 * How requests and replies cross is told in messages.ts.
 */
export type ToWriter = readonly unknown[] | "apply" | "watch" | "unwatch" | "close" | "abandon";

/** A file ahead begins. */
export interface AheadStart {
  /** Of its records. */
  readonly salt: number;
  /** Its bytes, as both threads see them. */
  readonly image: SharedArrayBuffer;
  /** No UUIDv7 in the store has this time or a later one. */
  readonly idsSinceMs: number;
}

/** From the writing thread: replies, or news. */
export type FromWriter =
  | readonly unknown[]
  /** `ahead`: what is needed to write to the file ahead, if there is one. */
  | { readonly type: "ready"; readonly ahead: AheadStart | undefined }
  /** The store has what stands in the file ahead, up to this record. */
  | { readonly type: "applied"; readonly serial: number }
  | { readonly type: "failed"; readonly error: PackedError }
  /** Another process has written since this was last said. */
  | { readonly type: "foreign" }
  | { readonly type: "warning"; readonly message: string };

export interface WriterOptions {
  readonly path: string;
  readonly durability: "sync" | "os";
  readonly busyTimeoutMs: number;
  readonly maxBytes: number | undefined;
  readonly exclusive: boolean;
  readonly pollMs: number;
  /** Smaller ones, so that a test sees what takes many ids or keys otherwise. */
  readonly indexSizes?: IndexSizes;
}
