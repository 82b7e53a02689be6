/** A store in the hands of a process that ends at its n-th change, which did or did not happen. */
import type { Store } from "../../../src/ports/store.js";
import { interceptStore } from "../../../src/testing/store-calls.js";

function dyingStore(of: Store, n: number, applies: boolean): { store: Store; died: () => boolean } {
  let changes = 0;
  const store = interceptStore(of, {
    around: async (call, proceed) => {
      if (changes >= n) throw new Error("the process is dead");
      if (call.kind === "read" || call.kind === "state" || ++changes < n) return proceed();
      if (applies) await proceed();
      throw new Error("the process died");
    },
    open: async () => undefined,
    close: async () => undefined,
  });
  return { store, died: () => changes >= n };
}

/** Ends one process after the other, at each change that `work` makes on its store, until one has come to its end. */
export async function dieAtEachChange(
  of: Store,
  work: (store: Store, isDead: () => boolean) => Promise<void>,
): Promise<void> {
  for (let n = 1, isFinished = false; !isFinished; n++) {
    for (const applies of [false, true]) {
      const { store, died } = dyingStore(of, n, applies);
      await work(store, died);
      isFinished = !died();
    }
  }
}
