/**
 * The view `hosts`: for each host how many processes are alive and stale, and what they use together. A sum must count
 * each change exactly once, so a transactional projector keeps it (P9): the totals, what each process has added to them
 * (view `hosts.shares`) and the cursor change in one commit.
 */
import type { EventRecord } from "../../model/event.js";
import type { Handle } from "../../model/task.js";
import type { Host } from "../host.js";
import type { Transaction } from "../views/transaction.js";
import { startTransactionalProjector, type TransactionalStats } from "../views/transactional.js";
import { changedTotals, type HostTotals, noTotals, type Share } from "./host-totals.js";
import { type ProcessState, processStateSchema, processStateTopic } from "./process-topics.js";

/**
 * Of the worked example: sums by host, counted exactly once (P9).
 *
 * @example
 * await startHostSummary(bus);
 * await bus.view("hosts").get("build-1"); // { host, alive, stale, cpu_pct, mem_mb, … }
 */
export function startHostSummary(host: Host): Promise<Handle<TransactionalStats>> {
  return startTransactionalProjector<ProcessState | null>(host, {
    topic: processStateTopic,
    group: "host-summary",
    handler: async (events, tx) => {
      for (const event of events) await addUp(event, tx);
    },
  });
}

async function addUp({ key, payload }: EventRecord<ProcessState | null>, tx: Transaction): Promise<void> {
  const state = payload === null ? undefined : processStateSchema.safeParse(payload).data;
  if (key === undefined || (payload !== null && state === undefined)) return;
  const shares = tx.view("hosts.shares");
  const before = (await shares.get<Share>(key)) ?? undefined;
  const name = state?.host ?? before?.host;
  if (name === undefined) return;
  const hosts = tx.view("hosts");
  const { host, alive, stale, cpu_pct, mem_mb } = (await hosts.get<HostTotals>(name)) ?? noTotals(name);
  const after = changedTotals({ host, alive, stale, cpu_pct, mem_mb }, before, state);
  if (after.alive + after.stale > 0) await hosts.upsert(name, after);
  else await hosts.delete(name);
  if (state === undefined) await shares.delete(key);
  else await shares.upsert(key, shareOf(state));
}

function shareOf({ host, status, cpu_pct, mem_mb }: ProcessState): Share {
  return { host, status, cpu_pct, mem_mb };
}
