/** A place in the log that an open transaction has taken, as one of a process that stopped, while others append beside it. */
import type { Document } from "mongodb";
import type { AppendResult } from "../../../src/ports/log.js";
import { eventually } from "../eventually.js";
import type { TestDatabase } from "./database.js";

export interface HeldPlace {
  readonly collection: string;
  /** Of the next event or batch of one partition. */
  readonly document: Document;
  readonly partitions: readonly number[];
  readonly append: (partition: number) => Promise<AppendResult>;
  /** By when the others are answered. */
  readonly deadlineMs: number;
}

/** Appends to all partitions at once; the place is let go of when all but one were answered. Tells which those were. */
export async function appendBeside(
  database: TestDatabase,
  { collection, document, partitions, append, deadlineMs }: HeldPlace,
): Promise<{ answers: AppendResult[]; meanwhile: ReadonlySet<number> }> {
  const session = database.client.startSession();
  session.startTransaction();
  await database.db.collection(collection).insertOne(document, { session });
  const answered = new Set<number>();
  const appending = partitions.map(async (partition) => {
    const answer = await append(partition);
    answered.add(partition);
    return answer;
  });
  const meanwhile = new Set<number>();
  try {
    await eventually(() => answered.size === partitions.length - 1, "all others were answered", deadlineMs);
    for (const partition of answered) meanwhile.add(partition);
  } finally {
    await session.abortTransaction();
    await session.endSession();
  }
  return { answers: await Promise.all(appending), meanwhile };
}
