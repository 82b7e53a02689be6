/**
 * Finds that come back whole in one reply. A cursor of the driver's costs more than most of what is looked for; like that,
 * they are tried once more when the server is lost or gives way to another.
 */
import { type Db, type Document, MongoServerSelectionError, type RunCommandOptions } from "mongodb";
import { mayHaveHappened } from "./errors.js";

export interface FindCommand {
  readonly find: string;
  readonly filter: Document;
  readonly limit: number;
  readonly sort?: Document;
  readonly projection?: Document;
  readonly readConcern: { readonly level: string };
}

/** The reply's `cursor`: documents are in `firstBatch`, as many as were asked for, unless 16 MiB are full before. */
export async function findAtOnce(
  db: Db,
  command: FindCommand,
  options: RunCommandOptions = {},
): Promise<Document> {
  const run = async (): Promise<Document> => {
    const { limit } = command;
    return (await db.command({ ...command, batchSize: limit, singleBatch: true }, options)).cursor;
  };
  try {
    return await run();
  } catch (error) {
    if (!mayHaveHappened(error) || error instanceof MongoServerSelectionError) throw error;
    return await run();
  }
}
