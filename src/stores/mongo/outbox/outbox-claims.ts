/**
 * Claims on entries of an outbox. Several drainers may claim at once. One that gets a later entry of a key but not an earlier
 * one gives it back before anybody sees it, so entries of one key are held by one drainer at a time, in order (P10).
 */
import { randomUUID } from "node:crypto";
import type { ClientSession, Collection, Filter } from "mongodb";
import type { ClaimOptions, OutboxClaim, OutboxStatus } from "../../../ports/outbox.js";
import { bsonText, plainText } from "../bson-json.js";
import type { OutboxDocument, Text } from "../collections.js";
import { SEES_ITS_WRITES } from "../groups/cursor-commits.js";
import { entryOf, IS_DUE, IS_NOT_DUE, inMs, isBefore } from "./outbox-document.js";

type UnsentStatus = Exclude<OutboxStatus, "sent">;
export const UNSENT: readonly UnsentStatus[] = ["pending", "claimed", "dead"];
export const IN_ORDER = { at: 1, nth: 1 } as const;
/** Said where the server might go through all that others have claimed, or that waits, instead. */
export const BY_ID = { _id: 1 } as const;
/** Entries looked through for one batch; the rest is for the next call, which goes on there. */
const MAX_SCANNED = 5_000;
const LEAST_AT_ONCE = 100;
/** Keys that a query leaves out; entries of further ones are looked at, and passed by. */
const MAX_LEFT_OUT = 200;

export class OutboxClaims {
  readonly #rows: Collection<OutboxDocument>;
  /** The last entry that was looked at, if the last call had to stop there. */
  #scannedTo: OutboxDocument | undefined;

  constructor(rows: Collection<OutboxDocument>) {
    this.#rows = rows;
  }

  async claim(count: number, o: ClaimOptions): Promise<readonly OutboxClaim[]> {
    const wanted = await this.#claimable(count);
    if (wanted.length === 0) return [];
    return await this.#rows.db.client.withSession(SEES_ITS_WRITES, (session) =>
      this.#claimAll(wanted, o, session),
    );
  }

  /** What is ours is asked as of the claim: a new primary may not know of it for a while. */
  async #claimAll(
    wanted: readonly OutboxDocument[],
    o: ClaimOptions,
    session: ClientSession,
  ): Promise<readonly OutboxClaim[]> {
    const token = `${o.owner}/${randomUUID()}`;
    const _id = { $in: wanted.map((document) => document._id) };
    await this.#rows.updateMany(
      { _id, status: "pending", ...IS_DUE },
      [{ $set: { status: "claimed", token: { $literal: token }, dueMs: inMs(o.leaseMs) } }],
      { session, hint: BY_ID },
    );
    const ours = { _id, token, status: "claimed" } as const;
    const held = await this.#rows.find(ours, { projection: { _id: 1 }, session, hint: BY_ID }).toArray();
    const got = new Set(held.map(({ _id }) => plainText(_id)));
    const { kept: unbroken, surplus } = withoutGaps(wanted, got);
    const rivals = await this.#rivals(unbroken, token, session);
    const kept = unbroken.filter((document) => !isBehind(document, rivals));
    surplus.push(...unbroken.filter((document) => isBehind(document, rivals)));
    if (surplus.length > 0) {
      await this.#rows.updateMany(
        { _id: { $in: surplus.map(({ _id }) => _id) }, token },
        { $set: { status: "pending", dueMs: 0 }, $unset: { token: 1 } },
        { session, hint: BY_ID },
      );
    }
    return kept.map((document) => ({
      ...entryOf(document),
      token: `${token} ${plainText(document._id)}`,
      failures: document.failures,
      ...(document.error !== undefined && { error: document.error }),
    }));
  }

  /**
   * The first `count` entries, in order, that are due and whose key nobody holds up. A key that is held up may have any
   * number of entries behind it: once one of them was met, the others are left out.
   */
  async #claimable(count: number): Promise<OutboxDocument[]> {
    const found: OutboxDocument[] = [];
    const heldUp = new Set<string>();
    let last = this.#scannedTo;
    this.#scannedTo = undefined;
    for (let scanned = 0; found.length < count; ) {
      const { page, isEnd } = await this.#due({ after: last, without: heldUp, count });
      const blockers = await this.#blockers(page);
      for (const document of page) {
        if (!isBehind(document, blockers)) found.push(document);
        else if (heldUp.size < MAX_LEFT_OUT) heldUp.add(plainText(document.key));
      }
      if (isEnd) break;
      last = page.at(-1);
      scanned += page.length;
      if (scanned >= MAX_SCANNED && found.length < count) {
        this.#scannedTo = last;
        break;
      }
    }
    return found.slice(0, count);
  }

  /** The next entries that are due, as many as one reply holds. */
  async #due(o: {
    after: OutboxDocument | undefined;
    without: ReadonlySet<string>;
    count: number;
  }): Promise<{ page: OutboxDocument[]; isEnd: boolean }> {
    const { after, without } = o;
    const due: Filter<OutboxDocument> = {
      status: "pending",
      ...IS_DUE,
      ...(without.size > 0 && { key: { $nin: [...without].map(bsonText) } }),
      ...(after && { at: { $gte: after.at }, $or: [{ at: { $gt: after.at } }, { nth: { $gt: after.nth } }] }),
    };
    const size = Math.max(LEAST_AT_ONCE, o.count);
    const cursor = this.#rows.find(due).sort(IN_ORDER).limit(size).batchSize(size);
    try {
      await cursor.hasNext();
      const page = cursor.readBufferedDocuments();
      return { page, isEnd: page.length < size && cursor.id?.isZero() === true };
    } finally {
      await cursor.close();
    }
  }

  /** By key, the earliest entry that is unsent and cannot be claimed now. Those behind the page hold up none of it. */
  async #blockers(page: readonly OutboxDocument[]): Promise<Map<string, OutboxDocument>> {
    const keys = keysOf(page);
    const last = page.at(-1);
    if (keys.length === 0 || last === undefined) return new Map();
    const blocked = await this.#rows
      .find({
        key: { $in: keys },
        at: { $lte: last.at },
        status: { $in: UNSENT },
        $or: [{ status: { $ne: "pending" } }, IS_NOT_DUE],
      })
      .sort(IN_ORDER)
      .project<OutboxDocument>({ payload: 0 })
      .toArray();
    return earliestByKey(blocked);
  }

  /**
   * By key, the earliest unsent entry that is not ours. Looked for once the claim holds: before that, another drainer
   * may have held an entry while the pending ones were read, and given it back before the blockers were; or its wait
   * was over in between.
   */
  async #rivals(
    claimed: readonly OutboxDocument[],
    token: string,
    session: ClientSession,
  ): Promise<Map<string, OutboxDocument>> {
    const keys = keysOf(claimed);
    const last = claimed.at(-1);
    if (keys.length === 0 || last === undefined) return new Map();
    const unsent: Filter<OutboxDocument> = {
      key: { $in: keys },
      status: { $in: UNSENT },
      token: { $ne: token },
      at: { $lte: last.at },
    };
    const found = await this.#rows
      .find(unsent, { session })
      .sort(IN_ORDER)
      .project<OutboxDocument>({ payload: 0 })
      .toArray();
    return earliestByKey(found);
  }
}

function keysOf(documents: readonly OutboxDocument[]): Text[] {
  const keys = new Set(documents.flatMap(({ key }) => (key === undefined ? [] : [plainText(key)])));
  return [...keys].map(bsonText);
}

/** Per key, the entries up to the first that we did not get; what comes after that is surplus. */
function withoutGaps(
  wanted: readonly OutboxDocument[],
  got: ReadonlySet<string>,
): { kept: OutboxDocument[]; surplus: OutboxDocument[] } {
  const missed = new Set<string>();
  const kept: OutboxDocument[] = [];
  const surplus: OutboxDocument[] = [];
  for (const document of wanted) {
    const key = document.key === undefined ? undefined : plainText(document.key);
    const ours = got.has(plainText(document._id));
    if (!ours && key !== undefined) missed.add(key);
    if (ours) (key !== undefined && missed.has(key) ? surplus : kept).push(document);
  }
  return { kept, surplus };
}

/** The first of each key; the documents come in order. */
function earliestByKey(documents: readonly OutboxDocument[]): Map<string, OutboxDocument> {
  const earliest = new Map<string, OutboxDocument>();
  for (const document of documents) {
    const key = plainText(document.key);
    if (!earliest.has(key)) earliest.set(key, document);
  }
  return earliest;
}

function isBehind(document: OutboxDocument, rivals: ReadonlyMap<string, OutboxDocument>): boolean {
  const rival = document.key === undefined ? undefined : rivals.get(plainText(document.key));
  return rival !== undefined && !isBefore(document, rival);
}
