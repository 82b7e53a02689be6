import { type Clock, within } from "./clock.js";
import { mapAtMost } from "./map-at-most.js";
import { nextTurn } from "./next-turn.js";

/** Items that are worked on in one turn of the event loop. */
const A_TURN = 32;

/** As `mapAtMost`, for work that may not wait for anything: whatever else there is to do has its turn in between. */
export function mapInTurns<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  limit = A_TURN,
): Promise<R[]> {
  return mapAtMost(limit, items, async (item) => {
    await nextTurn();
    return await work(item);
  });
}

/** Work that is under way at once, and how long one keeps another from beginning. */
const AT_ONCE = 128;
const PATIENCE_MS = 100;

/**
 * All of it is begun, in turns and not all at once, also if some fails; then the first failure is the caller's. For work of which some may
 * take long: it holds up no other for more than a moment.
 */
export async function allInTurns<T>(
  clock: Clock,
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const begun: Promise<void>[] = [];
  const begin = async (item: T): Promise<void> => {
    const working = work(item);
    begun.push(working);
    await within(
      clock,
      PATIENCE_MS,
      working.catch(() => undefined),
    );
  };
  await mapInTurns([...items], begin, AT_ONCE);
  await Promise.all(begun);
}
