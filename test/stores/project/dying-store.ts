/** A store in the hands of a process that ends just before its n-th change. */
import type { Store } from "../../../src/ports/store.js";
import { interceptStore } from "../../../src/testing/store-calls.js";

function dyingStore(of: Store, n: number): { store: Store; died: () => boolean } {
  let changes = 0;
  const store = interceptStore(of, {
    around: async (call, proceed) => {
      if (changes >= n) throw new Error("the process is dead");
      if (call.kind === "read" || call.kind === "state" || ++changes < n) return proceed();
      throw new Error("the process died");
    },
    open: async () => undefined,
    close: async () => undefined,
  });
  return { store, died: () => changes >= n };
}

/**
 * Ends one process after the other, at each change that `work` makes on its store, until one has come to its end. One that
 * ends after a change, and does not hear of it, leaves what the next leaves that ends before the change that follows.
 */
export async function dieAtEachChange(
  of: Store,
  work: (store: Store, isDead: () => boolean) => Promise<void>,
): Promise<void> {
  for (let n = 1, isFinished = false; !isFinished; n++) {
    const { store, died } = dyingStore(of, n);
    await work(store, died);
    isFinished = !died();
  }
}
