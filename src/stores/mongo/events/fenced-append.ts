/** Appends to the log in whatever layout, also those that happen only while a lease is held (P7). */
import type { ClientSession } from "mongodb";
import type { EventDraft } from "../../../model/event.js";
import type { Fence } from "../../../ports/groups.js";
import type { AppendResult } from "../../../ports/log.js";
import type { Signal } from "../../../ports/store.js";
import type { Connection } from "../connection/connection.js";
import { isDuplicateKey } from "../connection/errors.js";
import { holdLease } from "../groups/cursor-document.js";
import type { Place } from "./event-lookup.js";

const MAX_TRIES = 20;

/** Where events go. */
export interface Target {
  readonly place: Place;
  /** They get entries by key. */
  readonly keyed: boolean;
}

export interface AnyAppender {
  append(target: Target, drafts: readonly EventDraft[]): Promise<AppendResult>;
  /** In a transaction of the caller's. */
  appendIn(session: ClientSession, target: Target, drafts: readonly EventDraft[]): Promise<AppendResult>;
}

export interface AppendCall {
  readonly target: Target;
  readonly drafts: readonly EventDraft[];
  readonly fence: Fence | undefined;
}

/** Appends, and tells listeners in this process where the partition ends now. */
export function appendAndTell(
  connection: Connection,
  appender: AnyAppender,
  { target, drafts, fence }: AppendCall,
  signal: (signal: Signal) => void,
): Promise<AppendResult> {
  return connection.gate.write(async () => {
    const append = (session?: ClientSession): Promise<AppendResult> =>
      session === undefined ? appender.append(target, drafts) : appender.appendIn(session, target, drafts);
    const result = fence === undefined ? await append() : await appendFenced(connection, fence, append);
    const head = result.events.findLast((_, i) => !result.duplicates.has(i))?.seq;
    if (head !== undefined) signal({ type: "appended", ...target.place, head });
    return result;
  });
}

/**
 * The lease is held by the same commit that adds the events, so that no later owner can exist before them. Without
 * transactions, it is held just before.
 */
async function appendFenced(
  connection: Connection,
  fence: Fence,
  append: (session?: ClientSession) => Promise<AppendResult>,
): Promise<AppendResult> {
  const { cursors } = connection.collections;
  if (!connection.replicaSet) {
    await holdLease(cursors, fence);
    return await append();
  }
  for (let tries = 1; ; tries++) {
    try {
      return await connection.transact(async (session) => {
        await holdLease(cursors, fence, session);
        return await append(session);
      });
    } catch (error) {
      // Another writer took the seq or brought the id: the next try reads where things stand.
      if (!isDuplicateKey(error) || tries >= MAX_TRIES) throw error;
    }
  }
}
