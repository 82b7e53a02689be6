/** Marks on entries that were sent: those that are asked for at about the same time are one command. A claim settles once (P6). */
import { randomUUID } from "node:crypto";
import type { ClientSession, Collection } from "mongodb";
import { addToList } from "../../../model/add-to-list.js";
import { bsonText, plainText } from "../bson-json.js";
import type { OutboxDocument, Text } from "../collections.js";
import { AskedTogether } from "../connection/asked-together.js";
import { answerOf, type Told, tellApart } from "../connection/told-apart.js";
import { SEES_ITS_WRITES } from "../groups/cursor-commits.js";
import { BY_ID } from "./outbox-claims.js";
import { NOW_MS } from "./outbox-document.js";

interface Claim {
  readonly _id: Text;
  readonly token: string;
}

/** A batch is claimed under one token; each entry has its own by its id. */
export function claimOf(id: string, token: unknown): Claim | null {
  if (typeof token !== "string" || !token.endsWith(` ${id}`)) return null;
  return { _id: bsonText(id), token: token.slice(0, -id.length - 1) };
}

export class SentMarks {
  readonly #rows: Collection<OutboxDocument>;
  readonly #together = new AskedTogether((marks: readonly Claim[]) => this.#markAll(marks));

  constructor(rows: Collection<OutboxDocument>) {
    this.#rows = rows;
  }

  /** Whether the claim still held. */
  async mark(mark: Claim): Promise<boolean> {
    return answerOf(await this.#together.ask(mark));
  }

  #markAll(marks: readonly Claim[]): Promise<readonly Told<boolean>[]> {
    // Those that were marked by a command that failed are known by it.
    const by = randomUUID();
    return tellApart(marks, (some) =>
      this.#rows.db.client.withSession(SEES_ITS_WRITES, (session) => this.#markTogether(some, by, session)),
    );
  }

  async #markTogether(
    marks: readonly Claim[],
    by: string,
    session: ClientSession,
  ): Promise<readonly boolean[]> {
    const alike = new Map<string, Text[]>();
    for (const { _id, token } of marks) addToList(alike, token, _id);
    const updates = [...alike].map(([token, ids]) => {
      const filter = { _id: { $in: ids }, token, status: "claimed" as const };
      const $set = { status: "sent", dueMs: NOW_MS, token: { $literal: sentToken(token, by) } };
      return { updateMany: { filter, update: [{ $set }], hint: BY_ID } };
    });
    const { matchedCount } = await this.#rows.bulkWrite(updates, { ordered: false, session });
    if (matchedCount === marks.length) return marks.map(() => true);
    const marked = { _id: { $in: marks.map(({ _id }) => _id) }, status: "sent" } as const;
    const sent = await this.#rows.find(marked, { projection: { token: 1 }, session }).toArray();
    const tokens = new Map(sent.map(({ _id, token }) => [plainText(_id), token]));
    // A claim settles once, though it may be said twice.
    return marks.map(({ _id, token }) => {
      const id = plainText(_id);
      return tokens.get(id) === sentToken(token, by) && tokens.delete(id);
    });
  }
}

/** Of an entry that was sent: under which claim, and by which call. */
function sentToken(token: string, by: string): string {
  return `${token} ${by}`;
}
