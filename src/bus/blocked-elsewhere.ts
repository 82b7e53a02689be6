/**
 * What holds a partition up that another process owns, as its owner last wrote it down. The cursor does not tell how many events wait
 * behind one that failed: they are counted in the log, not far, since it is one or many that whoever asks wants to know.
 */
import type { Blocked } from "../consume/blocked.js";
import type { StoredEvent } from "../model/event.js";
import { type GroupRef, isSettled, type Lease } from "../ports/groups.js";
import type { Log } from "../ports/log.js";

const MOST = 20;
const LOOK_AHEAD = { limit: 1_000, maxBytes: 1_048_576 };

export async function blockedElsewhere(
  log: Log,
  { topic }: GroupRef,
  { partition, cursor }: Lease,
): Promise<Blocked[]> {
  const failed = cursor.attempts.filter(({ failures }) => failures > 0).slice(0, MOST);
  const [first] = failed;
  if (first === undefined) return [];
  const { events } = await log.read(topic, partition, { after: first.seq - 1, ...LOOK_AHEAD });
  const eventAt = async (seq: number): Promise<StoredEvent | undefined> => {
    const isAt = (event: StoredEvent): boolean => event.seq === seq;
    const near = events.find(isAt);
    return near ?? (await log.read(topic, partition, { after: seq - 1, limit: 1 })).events.find(isAt);
  };
  const waitsBehind = (failedOne: StoredEvent | undefined, { seq, key }: StoredEvent): boolean =>
    key !== undefined && key === failedOne?.key && seq > failedOne.seq && !isSettled(cursor, seq);
  return Promise.all(
    failed.map(async ({ seq, failures, error, retryAtMs }) => {
      const event = await eventAt(seq);
      return {
        seq,
        id: event?.id ?? "",
        ...(event?.key === undefined ? undefined : { key: event.key }),
        failures,
        ...(error === undefined ? undefined : { error }),
        ...(retryAtMs === undefined ? undefined : { retryAtMs }),
        running: false,
        behind: events.filter((other) => waitsBehind(event, other)).length,
      };
    }),
  );
}
