/**
 * Tokens that are replaced at about the same time, as one command: a process may run many change feeds, each of which keeps its place
 * behind every batch. Each is a compare-and-set by itself. Whose write it was that a token has now, its mark tells: also of a try that
 * failed together with others, and had its effect.
 */
import type { ClientSession, Collection } from "mongodb";
import type { TokenDocument } from "./collections.js";
import { SEES_ITS_WRITES } from "./cursor-commits.js";
import { type Told, tellApart } from "./told-apart.js";

/** Nobody asks to replace a revision before hearing that it is there. */
export interface TokenWrite {
  readonly name: string;
  readonly value: string;
  /** Above 0. */
  readonly expected: number;
  /** No other write of any process has it. */
  readonly mark: string;
}

/** The revision that is there now, and whether the write had its effect; one that was replaced again by then may be told as lost. */
export interface TokenOutcome {
  readonly isWritten: boolean;
  readonly revision: number;
}

export function replaceTokens(
  tokens: Collection<TokenDocument>,
  writes: readonly TokenWrite[],
): Promise<readonly Told<TokenOutcome>[]> {
  return tellApart(writes, (some) =>
    tokens.db.client.withSession(SEES_ITS_WRITES, (session) => replaceAll(tokens, some, session)),
  );
}

async function replaceAll(
  tokens: Collection<TokenDocument>,
  writes: readonly TokenWrite[],
  session: ClientSession,
): Promise<readonly TokenOutcome[]> {
  const updates = writes.map(({ name, value, expected, mark }) => ({
    updateOne: {
      filter: { _id: name, revision: expected },
      update: { $set: { value, revision: expected + 1, mark } },
    },
  }));
  const { matchedCount } = await tokens.bulkWrite(updates, { ordered: false, session });
  if (matchedCount === writes.length)
    return writes.map(({ expected }) => ({ isWritten: true, revision: expected + 1 }));
  const names = writes.map(({ name }) => name);
  const projection = { revision: 1, mark: 1 };
  const found = await tokens.find({ _id: { $in: names } }, { projection, session }).toArray();
  const byName = new Map(found.map((token) => [token._id, token]));
  return writes.map(({ name, mark }) => {
    const token = byName.get(name);
    return { isWritten: token?.mark === mark, revision: token?.revision ?? 0 };
  });
}
