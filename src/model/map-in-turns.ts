import { mapAtMost } from "./map-at-most.js";
import { nextTurn } from "./next-turn.js";

/** Items that are worked on in one turn of the event loop. */
const A_TURN = 32;

/** As `mapAtMost`, for work that may not wait for anything: whatever else there is to do has its turn in between. */
export function mapInTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  return mapAtMost(A_TURN, items, async (item) => {
    await nextTurn();
    return await work(item);
  });
}
