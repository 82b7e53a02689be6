/**
 * When to try again after another writer took the place. An insert that loses costs its sender and the server nearly as much
 * as one that wins, and those who lose look at about the same moments. So whoever lost waits
 *
 * - until the append that was in its way is over: the last event of an append has a stamp, those before it have none;
 * - with many events at hand, until nobody goes on: the one who won may have the next ones ready already.
 *
 * The latter only once for an append, and not for long, so that everybody gets their turn. All of this goes by what the
 * primary has at the moment, and is nothing but a hint: where the partition ends is asked afterwards, of a majority.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Timestamp } from "mongodb";
import type { Connection } from "../connection/connection.js";
import { type Found, findAtOnce } from "../connection/single-reply.js";
import type { Place } from "./event-lookup.js";

/** How often, and after how long, a writer looks whether the append in its way is over. */
const MAX_LOOKS = 16;
const LOOK_AGAIN_MS = 4;
/** How long it is to be calm before many events are sent: about as long as it takes to make them ready. */
const CALM_MS_PER_EVENT = 0.01;
const MAX_CALM_MS = 12;
/** What is sent sooner than one could look again. */
const FEW_EVENTS = 200;

export interface Loser {
  /** How many events it has. */
  readonly size: number;
  /** How often it lost with them. */
  readonly losses: number;
}

/** Returns the server's logical time of the last look. */
export async function waitForTurn(
  connection: Connection,
  place: Place,
  { size, losses }: Loser,
): Promise<Timestamp | undefined> {
  const mindsOthers = losses <= 1 && size >= FEW_EVENTS;
  const calmMs = Math.min(MAX_CALM_MS, size * CALM_MS_PER_EVENT);
  let calmAt: number | undefined;
  let at: Timestamp | undefined;
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    const look = await newest(connection, place);
    at = look.at;
    const [last] = look.firstBatch;
    if (last === undefined) break;
    const isUnderWay = last.at === undefined && last.to === undefined && last.gone === undefined;
    if (!isUnderWay && (!mindsOthers || calmAt === last.seq)) break;
    calmAt = isUnderWay ? undefined : last.seq;
    await pause((isUnderWay ? LOOK_AGAIN_MS : calmMs) * (0.5 + Math.random()));
  }
  return at;
}

function newest({ db, collections }: Connection, { topic, partition }: Place): Promise<Found> {
  return findAtOnce(db, {
    find: collections.events.collectionName,
    filter: { topic, partition },
    projection: { _id: 0, seq: 1, to: 1, at: 1, gone: 1 },
    sort: { seq: -1 },
    limit: 1,
    readConcern: { level: "local" },
  });
}
