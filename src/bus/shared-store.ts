/** Several buses may stand on one store object: the first opens it, the last closes it. */
import type { Store } from "../ports/store.js";

interface Use {
  users: number;
  opened: Promise<void>;
}

const uses = new WeakMap<Store, Use>();

export async function acquireStore(store: Store): Promise<void> {
  let use = uses.get(store);
  if (use === undefined) {
    use = { users: 0, opened: store.open() };
    uses.set(store, use);
  }
  use.users++;
  try {
    await use.opened;
  } catch (error) {
    uses.delete(store);
    throw error;
  }
}

export async function releaseStore(store: Store): Promise<void> {
  const use = uses.get(store);
  if (use === undefined || --use.users > 0) return;
  uses.delete(store);
  await store.close();
}
