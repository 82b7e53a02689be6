/**
 * One transaction, as often as it takes: begun anew after an error that ended it without effect, committed again while
 * the outcome of the commit is unknown.
 *
 *   begin --body--> commit --ok--> done
 *     ^       |        |--unknown--> commit (until the outcome is known, or patience is over: OUTCOME_UNKNOWN)
 *     '-------+--------'-- transient: nothing happened
 *
 * The driver's own loop trusts labels alone, and the driver leaves them off when a connection breaks just after another
 * one to the same server did.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ClientSession, TransactionOptions } from "mongodb";
import { busError, isCommitUnknown, isTransient } from "./errors.js";

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
): Promise<T> {
  const untilMs = performance.now() + PATIENCE_MS;
  for (let tries = 0; ; tries++) {
    session.startTransaction(TRANSACTION);
    try {
      const result = await body(session);
      if (await commit(session, untilMs)) return result;
    } catch (error) {
      if (session.inTransaction()) await session.abortTransaction();
      if (!isTransient(error) || performance.now() > untilMs) throw error;
    }
    await pause(Math.random() * Math.min(5 * 1.5 ** tries, 500));
  }
}

/** False if the transaction turned out to have had no effect. */
async function commit(session: ClientSession, untilMs: number): Promise<boolean> {
  for (;;) {
    try {
      await session.commitTransaction();
      return true;
    } catch (error) {
      if (isCommitUnknown(error)) {
        if (performance.now() > untilMs) throw busError(error, "possible");
      } else if (isTransient(error)) {
        return false;
      } else {
        throw error;
      }
    }
    await pause(20);
  }
}
