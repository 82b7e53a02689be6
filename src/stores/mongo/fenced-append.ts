/** Appends that happen only while a lease is held (P7). */
import type { ClientSession } from "mongodb";
import type { Fence } from "../../ports/groups.js";
import type { AppendResult } from "../../ports/log.js";
import type { Connection } from "./connection.js";
import { holdLease } from "./cursor-document.js";
import { isDuplicateKey } from "./errors.js";

const MAX_TRIES = 20;

/**
 * The lease is held by the same commit that adds the events, so that no later owner can exist before them. Without
 * transactions, it is held just before.
 */
export async function appendFenced(
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
