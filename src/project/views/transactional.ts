/**
 * Transactional projector: a batch of events, the documents it changes and the cursor that accounts for it go into one
 * commit (P9). Whatever happens, each event takes effect exactly once: a commit that is sent twice finds the cursor
 * moved, and one under an older epoch finds it fenced (P7).
 */
import { BusError } from "../../model/errors.js";
import type { EventRecord } from "../../model/event.js";
import { checkOptionNames, namesOf } from "../../model/known-options.js";
import type { Handle } from "../../model/task.js";
import { checkTopicName, type TopicRef, topicName } from "../../model/topic.js";
import { checkHost, type Host } from "../host.js";
import { checkChoice, checkName, checkObject, checkRange } from "../option-checks.js";
import { subscribedTask } from "../running-task.js";
import { TaskHealth } from "../task-health.js";
import { FedBuild } from "./build-effects.js";
import { BuildFollower } from "./build-follower.js";
import { rememberKeeper } from "./kept-views.js";
import { TombstonePurge } from "./tombstone-purge.js";
import type { Transaction } from "./transaction.js";
import { feedCounting } from "./transactional-build.js";
import type { TransactionContext } from "./transactional-context.js";

/** Which topic a transactional projector reads, as which group, and what it does with the events. */
export interface TransactionalOptions<T = unknown> {
  /** Which to read. */
  readonly topic: TopicRef<T>;
  /** Under which its position is kept. */
  readonly group: string;
  /** Where it begins the first time. Default "earliest". */
  readonly from?: "earliest" | "latest";
  /** Events handed to the handler at once, at most. Default 500. */
  readonly batchSize?: number;
  /** Tries before an event is a dead letter. Default 5. */
  readonly maxAttempts?: number;
  /** MongoDB only: the handler runs inside the transaction and finds its ClientSession in `tx.session`. */
  readonly session?: boolean;
  /** How long the views remember that a document was deleted. Default one day. */
  readonly keepTombstonesMs?: number;
  /** May run again for the same events, with nothing of the earlier run left: write only through `tx`. */
  readonly handler: (events: readonly EventRecord<T>[], tx: Transaction, ctx: TransactionContext) => unknown;
}

/** Of a transactional projector, and of what is told of one. */
export const TRANSACTIONAL_OPTIONS = namesOf<TransactionalOptions>({
  topic: true,
  group: true,
  from: true,
  batchSize: true,
  maxAttempts: true,
  session: true,
  keepTombstonesMs: true,
  handler: true,
});

/** What a transactional projector has done: events taken in, commits, commits that were tried again. */
export interface TransactionalStats {
  readonly [name: string]: number;
  readonly events: number;
  readonly commits: number;
  readonly conflicts: number;
  /** Tombstones removed from the views. */
  readonly purged: number;
}

/**
 * Runs a handler whose views are committed together with its position: each event counts exactly once (P9).
 *
 * @example
 * await startTransactionalProjector(bus, {
 *   topic: "orders", group: "totals", from: "earliest",
 *   handler: async (events, tx) => { for (const e of events) await tx.view("totals").inc(e.key!, { amount: 5 }); },
 * });
 */
export async function startTransactionalProjector<T>(
  host: Host,
  options: TransactionalOptions<T>,
): Promise<Handle<TransactionalStats>> {
  checkHost(host);
  checkProjector(options);
  const { store, clock, tasks } = host;
  if (!store.capabilities.transactions) {
    throw new BusError(
      "UNSUPPORTED",
      `${store.name} has no transactions, which a transactional projector needs`,
    );
  }
  if (options.session && !store.capabilities.nativeTransactions)
    throw new BusError("UNSUPPORTED", `${store.name} has no session to share; only MongoDB has`);
  rememberKeeper(host, options);
  const stats = { events: 0, commits: 0, conflicts: 0, purged: 0 };
  const health = new TaskHealth();
  const projector = { ...options, handler: health.around(options.handler) };
  const purge = new TombstonePurge(store.documents, clock, options.keepTombstonesMs);
  const fed = new FedBuild(host, { topic: topicName(options.topic), group: options.group });
  const follower = await BuildFollower.start({
    clock,
    current: () => fed.current(),
    attach: (build, signal) => feedCounting(host, { projector, build, stats, purge }, signal),
    round: async () => {
      stats.purged += await purge.round();
    },
  });
  const name = `transactional ${topicName(options.topic)} (${options.group})`;
  const task = { kind: "transactional", name, clock, board: tasks, stats: () => ({ ...stats }) };
  return subscribedTask(task, () => follower.stop(), health);
}

function checkProjector<T>(options: TransactionalOptions<T>): void {
  checkObject("startTransactionalProjector", options);
  checkOptionNames("startTransactionalProjector", options, TRANSACTIONAL_OPTIONS);
  checkTopicName(topicName(options.topic));
  checkName("group", options.group);
  if (typeof options.handler !== "function")
    throw new BusError("INVALID_OPTION", "a transactional projector needs a handler(events, tx)");
  checkChoice("from", options.from, ["earliest", "latest"]);
  checkRange("batchSize", options.batchSize, 1);
  checkRange("keepTombstonesMs", options.keepTombstonesMs, 0);
}
