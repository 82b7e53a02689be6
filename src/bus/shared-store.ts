/** Several buses may stand on one store object: the first opens it, the last closes it, and it may be opened again. */
import type { Store } from "../ports/store.js";

interface Use {
  users: number;
  opened: Promise<void>;
}

const uses = new WeakMap<Store, Use>();
/** Closes under way: whoever opens the store next waits for that. */
const closings = new WeakMap<Store, Promise<void>>();

export async function acquireStore(store: Store): Promise<void> {
  let use = uses.get(store);
  if (use === undefined) {
    use = { users: 0, opened: open(store) };
    uses.set(store, use);
  }
  use.users++;
  try {
    await use.opened;
  } catch (error) {
    if (uses.get(store) === use) uses.delete(store);
    throw error;
  }
}

async function open(store: Store): Promise<void> {
  await closings.get(store)?.catch(() => undefined);
  await store.open();
}

export async function releaseStore(store: Store): Promise<void> {
  const use = uses.get(store);
  if (use === undefined || --use.users > 0) return;
  uses.delete(store);
  const closing = store.close().finally(() => closings.delete(store));
  closings.set(store, closing);
  await closing;
}
