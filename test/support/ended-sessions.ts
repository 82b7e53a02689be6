/** What time would do as well: the sessions of a process that is dead end, and others have what it held at once. */
import type { Store } from "../../src/ports/store.js";

export async function endSessions(store: Store, pid: number): Promise<void> {
  const nowMs = Date.now();
  for (const session of await store.groups.sessions({ nowMs })) {
    if (session.pid === pid) await store.groups.close(session.member, { nowMs });
  }
}
