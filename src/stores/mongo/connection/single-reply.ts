/**
 * Finds that come back whole in one reply. A cursor of the driver's costs more than most of what is looked for; like that,
 * they are tried once more when the server is lost or gives way to another.
 */
import type { Db, Document, RunCommandOptions, Timestamp } from "mongodb";
import { isMongo } from "./driver-kinds.js";
import { mayHaveHappened } from "./errors.js";

export interface FindCommand {
  readonly find: string;
  readonly filter: Document;
  readonly limit: number;
  readonly sort?: Document;
  readonly projection?: Document;
  readonly readConcern: { readonly level: string; readonly afterClusterTime?: Timestamp };
}

/** As many documents as were asked for, unless 16 MiB are full before; and the server's logical time, if it has one. */
export interface Found {
  readonly firstBatch: Document[string];
  readonly at: Timestamp | undefined;
}

export async function findAtOnce(
  db: Db,
  command: FindCommand,
  options: RunCommandOptions = {},
): Promise<Found> {
  const run = async (): Promise<Found> => {
    const { limit } = command;
    const whole = { ...command, batchSize: limit, singleBatch: true };
    const { cursor, operationTime } = await db.command(whole, options);
    return { firstBatch: cursor.firstBatch, at: operationTime };
  };
  try {
    return await run();
  } catch (error) {
    if (!mayHaveHappened(error) || isMongo(error, "MongoServerSelectionError")) throw error;
    return await run();
  }
}
