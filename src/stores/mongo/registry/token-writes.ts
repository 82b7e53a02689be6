/**
 * Tokens that are replaced at about the same time, as one command: a process may run many change feeds, each of which keeps its place
 * behind every batch. Each is a compare-and-set by itself. Whose write it was that a token has now, its mark tells: also of a try that
 * failed together with others, and had its effect.
 */
import type { ClientSession, Collection } from "mongodb";
import type { TokenDocument } from "../collections.js";
import { type Told, tellApart } from "../connection/told-apart.js";
import { SEES_ITS_WRITES } from "../groups/cursor-commits.js";

/** Nobody asks to replace a revision before hearing that it is there. */
export interface TokenWrite {
  readonly name: string;
  readonly value: string;
  /** Above 0. */
  readonly expected: number;
  /** No other write of any process has it. */
  readonly mark: string;
}

/** The revision that is there now, and whether the write had its effect: undefined if that is not known. */
export interface TokenOutcome {
  readonly isWritten: boolean | undefined;
  readonly revision: number;
}

export function replaceTokens(
  tokens: Collection<TokenDocument>,
  writes: readonly TokenWrite[],
): Promise<readonly Told<TokenOutcome>[]> {
  let tries = 0;
  return tellApart(writes, (some) => {
    const isFirst = tries++ === 0;
    return tokens.db.client.withSession(SEES_ITS_WRITES, (session) =>
      replaceAll(tokens, some, session, isFirst),
    );
  });
}

async function replaceAll(
  tokens: Collection<TokenDocument>,
  writes: readonly TokenWrite[],
  session: ClientSession,
  isFirst: boolean,
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
  const outcomes = outcomesOf(writes, found);
  // What an earlier try wrote is not in the count of this one.
  return isFirst ? withCount(outcomes, matchedCount) : outcomes;
}

type Found = Pick<TokenDocument, "_id" | "revision" | "mark">;

/** By what is there now. Behind a revision that others have made since, or removed, nobody sees whose the one before was. */
export function outcomesOf(writes: readonly TokenWrite[], found: readonly Found[]): readonly TokenOutcome[] {
  const byName = new Map(found.map((token) => [token._id, token]));
  return writes.map(({ name, expected, mark }) => {
    const { revision = 0, mark: last } = byName.get(name) ?? {};
    if (last === mark) return { isWritten: true, revision };
    return { isWritten: revision > 0 && revision <= expected + 1 ? false : undefined, revision };
  });
}

/** How many were written tells of those that are not clear, if all or none of them were. */
export function withCount(outcomes: readonly TokenOutcome[], written: number): readonly TokenOutcome[] {
  const unclear = outcomes.filter(({ isWritten }) => isWritten === undefined).length;
  const left = written - outcomes.filter(({ isWritten }) => isWritten).length;
  if (left > 0 && left < unclear) return outcomes;
  return outcomes.map(({ isWritten = left > 0, revision }) => ({ isWritten, revision }));
}
