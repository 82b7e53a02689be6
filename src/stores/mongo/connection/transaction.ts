/**
 * One transaction, as often as it takes: begun anew after an error that ended it without effect, committed again while
 * the outcome of the commit is unknown.
 *
 *   begin --body--> commit --ok--> done
 *     ^       |        |--unknown--> commit (until the outcome is known, or patience is over: OUTCOME_UNKNOWN)
 *     '-------+--------'-- transient: nothing happened (until patience is over: the last error)
 *
 * The driver's own loop trusts labels alone, and the driver leaves them off when a connection breaks just after another
 * one to the same server did.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ClientSession, TransactionOptions } from "mongodb";
import { BusError, describeThrown } from "../../../model/errors.js";
import { busError, isCommitUnknown, isEndedByServer, isTransient } from "./errors.js";

const PATIENCE_MS = 30_000;

export const TRANSACTION: TransactionOptions = {
  readConcern: { level: "snapshot" },
  writeConcern: { w: "majority", journal: true },
  readPreference: "primary",
};

/** `body` may run several times. What it throws has had no effect. */
export async function inTransaction<T>(
  session: ClientSession,
  body: (session: ClientSession) => Promise<T>,
  { patienceMs = PATIENCE_MS }: { readonly patienceMs?: number } = {},
): Promise<T> {
  const untilMs = performance.now() + patienceMs;
  for (let tries = 0; ; tries++) {
    session.startTransaction(TRANSACTION);
    let ended: unknown;
    try {
      const result = await body(session);
      ended = await commit(session, untilMs);
      if (ended === undefined) return result;
    } catch (error) {
      if (session.inTransaction()) await session.abortTransaction();
      if (!isTransient(error)) throw error;
      ended = error;
    }
    if (performance.now() > untilMs) throw isEndedByServer(ended) ? tookTooLong(ended) : ended;
    await pause(Math.random() * Math.min(5 * 1.5 ** tries, 500));
  }
}

/** What ended the transaction without effect, if it turned out that something did. */
async function commit(session: ClientSession, untilMs: number): Promise<unknown> {
  for (;;) {
    try {
      await session.commitTransaction();
      return undefined;
    } catch (error) {
      if (isCommitUnknown(error)) {
        if (performance.now() > untilMs) throw busError(error, "possible");
      } else if (isTransient(error)) {
        return error;
      } else {
        throw error;
      }
    }
    await pause(20);
  }
}

/** Begun anew as it is, it would most likely end so again: whoever can do less at once is told by `details`. */
function tookTooLong(cause: unknown): BusError {
  return new BusError(
    "WRITE_CONFLICT",
    "the transaction was ended by the server, time and again: none may last longer than its " +
      `transactionLifetimeLimitSeconds (60 s unless set): ${describeThrown(cause)}`,
    { cause, details: { tooLong: true } },
  );
}
