/** Planted bugs of stores: each breaks one obligation of the ports. */
import { BusError } from "../../model/errors.js";
import { type EventDraft, StoredEvent } from "../../model/event.js";
import { isDeadLetterTopic } from "../../model/topic.js";
import type { Unit } from "../../ports/documents.js";
import type { Claim, GroupPartition, GroupState, Lease } from "../../ports/groups.js";
import type { AppendResult, Page } from "../../ports/log.js";
import type { Store } from "../../ports/store.js";
import { interceptStore, type Proceed, type StoreCall } from "../store-calls.js";
import type { Mutant, MutantContext } from "./mutant.js";
import type { Scenario } from "./scenario.js";

type Around = (
  store: Store,
  context: MutantContext,
) => (call: StoreCall, proceed: Proceed) => Promise<unknown>;

/** A store with something else around its calls. */
function around(make: Around): NonNullable<Mutant["store"]> {
  return (store, context) => interceptStore(store, { around: make(store, context) });
}

/** Owners are often paused for longer than their lease lasts. */
function standingStill(scenario: Scenario): Scenario {
  return { ...scenario, chaos: { everyMs: 600, blows: { ...scenario.chaos.blows, freeze: 10 } } };
}

async function leaseOf(
  store: Store,
  { topic, group, partition }: GroupPartition,
): Promise<Lease | undefined> {
  const state = await store.groups.state({ topic, group }, { nowMs: 0 });
  return state?.leases.find((lease) => lease.partition === partition);
}

/** Tries again under the newest epoch whatever was refused for an older one. */
async function underNewestEpoch(
  store: Store,
  ref: GroupPartition,
  attempt: () => Promise<unknown>,
  again: (epoch: number) => Promise<unknown>,
): Promise<unknown> {
  try {
    return await attempt();
  } catch (error) {
    const lease = await leaseOf(store, ref);
    if (!BusError.is(error, "LEASE_LOST") || lease?.owner == null) throw error;
    return again(lease.epoch);
  }
}

const noEpochCheck: Mutant = {
  name: "no-epoch-check",
  says: "a cursor is stored under any epoch",
  expect: ["zombie-write"],
  scenario: standingStill,
  store: around((store) => (call, proceed) => {
    if (call.name !== "groups.commit") return proceed();
    const [ref, , cursor] = call.args;
    return underNewestEpoch(store, ref, proceed, (epoch) => store.groups.commit(ref, epoch, cursor));
  }),
};

const unfencedDeadLetter: Mutant = {
  name: "unfenced-dead-letter",
  says: "an append does not look at its fence",
  expect: ["zombie-write"],
  // Owners that stand still while they hold events in their last try.
  scenario: (scenario) =>
    standingStill({
      ...scenario,
      groups: scenario.groups.map((group) => ({
        ...group,
        maxAttempts: 1,
        moods: { ...group.moods, slow: 10 },
      })),
    }),
  store: around(() => (call, proceed) => {
    if (call.name !== "log.append") return proceed();
    const [topic, partition, drafts] = call.args;
    return proceed([topic, partition, drafts]);
  }),
};

const unfencedTransaction: Mutant = {
  name: "unfenced-transaction",
  says: "a transaction stores its documents and its cursor under any epoch, and does not look where the cursor stood",
  expect: ["zombie-write", "effect-twice"],
  store: around((store) => (call, proceed) => {
    if (call.name !== "documents.transact") return proceed();
    const [unit] = call.args;
    const { cursor: write } = unit;
    if (write === undefined) return proceed();
    const { expectedFloor: _ignored, ...rest } = write;
    const again = (epoch: number): Promise<unknown> => proceed([{ ...unit, cursor: { ...rest, epoch } }]);
    return underNewestEpoch(store, write.ref, () => proceed([{ ...unit, cursor: rest }]), again);
  }),
};

const ackBeforeStored: Mutant = {
  name: "ack-before-stored",
  says: "an append is answered before it is stored, and now and then the process dies in between",
  expect: ["lost"],
  store: around((store, { dice, faulty }) => async (call, proceed) => {
    if (call.name !== "log.append" || !faulty() || !dice.chance(0.05)) return proceed();
    const [topic, partition, drafts] = call.args;
    const head = (await store.log.heads(topic))[partition]?.head ?? 0;
    const events = drafts.map((draft, i) => new StoredEvent(topic, partition, head + 1 + i, draft));
    return { events, duplicates: new Set<number>() } satisfies AppendResult;
  }),
};

const seqGap: Mutant = {
  name: "seq-gap",
  says: "an append that is repeated takes a new number and leaves the old one empty",
  expect: ["seq-gap"],
  store: around((store, { dice, faulty, clock }) => async (call, proceed) => {
    if (call.name !== "log.append" || !faulty() || !dice.chance(0.05)) return proceed();
    const [topic, partition, drafts] = call.args;
    const [first] = drafts as readonly [EventDraft];
    const { events } = await store.log.append(topic, partition, [{ ...first, id: clock.newId() }]);
    await store.log.remove(topic, partition, [(events as readonly [StoredEvent])[0].seq]);
    return proceed();
  }),
};

const idAcceptedTwice: Mutant = {
  name: "id-accepted-twice",
  says: "an id that is there already is taken again",
  expect: ["id-twice", "effect-twice"],
  store: around((store, { clock }) => async (call, proceed) => {
    if (call.name !== "log.append" || isDeadLetterTopic(call.args[0])) return proceed();
    const [topic, partition, drafts, fence] = call.args;
    const renamed: EventDraft[] = [];
    for (const draft of drafts) {
      const there = (await store.log.find(draft.id)) !== null;
      renamed.push(there ? { ...draft, id: clock.newId() } : draft);
    }
    return proceed([topic, partition, renamed, fence]);
  }),
};

const deadLetterWithNewId: Mutant = {
  name: "dead-letter-with-new-id",
  says: "a dead letter has another id each time it is written",
  expect: ["dlq-double"],
  store: around((_, { clock }) => (call, proceed) => {
    if (call.name !== "log.append" || !isDeadLetterTopic(call.args[0])) return proceed();
    const [topic, partition, drafts, fence] = call.args;
    const renamed = drafts.map((draft) => ({ ...draft, id: clock.newId() }));
    return proceed([topic, partition, renamed, fence]);
  }),
};

const sharedCursor: Mutant = {
  name: "shared-cursor",
  says: "the partitions of a group share one cursor",
  expect: ["skipped"],
  store: around((store, { clock }) => async (call, proceed) => {
    const result = await proceed();
    if (call.name !== "groups.claim" || result === null) return result;
    const [{ topic, group }] = call.args;
    const state = await store.groups.state({ topic, group }, { nowMs: clock.now() });
    const furthest = state?.leases.reduce((a, b) => (b.cursor.floor > a.cursor.floor ? b : a));
    return { ...(result as Claim), ...(furthest && { cursor: furthest.cursor }) };
  }),
};

const cursorBeforeDocuments: Mutant = {
  name: "cursor-before-documents",
  says: "a transaction stores the cursor first and the documents after it",
  expect: ["effect-twice"],
  store: around((store, { dice, faulty }) => async (call, proceed) => {
    if (call.name !== "documents.transact") return proceed();
    const [{ writes, cursor: write }] = call.args as readonly [Unit];
    if (write !== undefined) await store.groups.commit(write.ref, write.epoch, write.cursor);
    if (faulty() && dice.chance(0.1)) throw new BusError("OUTCOME_UNKNOWN", "the store went away");
    return proceed([{ writes }]);
  }),
};

const sameEpoch: Mutant = {
  name: "same-epoch",
  says: "a grant does not raise the epoch",
  expect: ["zombie-write"],
  store: around((store) => async (call, proceed) => {
    switch (call.name) {
      case "groups.claim": {
        const claim = (await proceed()) as Claim | null;
        return claim && { ...claim, epoch: 1 };
      }
      case "groups.commit":
      case "groups.release": {
        const [ref, , cursor] = call.args;
        return proceed([ref, (await leaseOf(store, ref))?.epoch ?? 0, cursor]);
      }
      case "groups.state": {
        const state = (await proceed()) as GroupState | null;
        return state && { ...state, leases: state.leases.map((lease) => ({ ...lease, epoch: 1 })) };
      }
      default:
        return proceed();
    }
  }),
};

const cursorLostOnRelease: Mutant = {
  name: "cursor-lost-on-release",
  says: "a release gives the partition back and forgets the cursor",
  expect: ["zombie-write"],
  store: around((store) => async (call, proceed) => {
    if (call.name !== "groups.release") return proceed();
    const [ref, epoch] = call.args;
    return proceed([ref, epoch, (await leaseOf(store, ref))?.cursor]);
  }),
};

const readSkips: Mutant = {
  name: "read-skips",
  says: "a read now and then misses an event that is there, as one ordered by time would",
  expect: ["skipped"],
  store: around((_, { dice, faulty }) => async (call, proceed) => {
    const result = await proceed();
    if (call.name !== "log.read" || !faulty() || !dice.chance(0.1)) return result;
    const page = result as Page;
    return { ...page, events: page.events.slice(1) } satisfies Page;
  }),
};

const deadOwnerKeepsLease: Mutant = {
  name: "dead-owner-keeps-lease",
  says: "a partition that was not released is never granted again",
  expect: ["stalled"],
  store: around((store) => async (call, proceed) => {
    if (call.name !== "groups.claim") return proceed();
    const [ref, member] = call.args;
    const owner = (await leaseOf(store, ref))?.owner ?? null;
    return owner === null || owner === member ? proceed() : null;
  }),
};

/** A topic that is removed more often, and has company each time. */
function manyRemovals(scenario: Scenario): Scenario {
  return { ...scenario, removals: 10 };
}

const removalTakesMore: Mutant = {
  name: "removal-takes-more",
  says: "what came since somebody looked goes with the events before it",
  expect: ["lost"],
  scenario: manyRemovals,
  store: around((store) => async (call, proceed) => {
    if (call.name !== "log.trim") return proceed();
    const [topic, partition, through] = call.args;
    return store.log.trim(topic, partition, through + 2);
  }),
};

const removalOfWritten: Mutant = {
  name: "removal-of-written",
  says: "a topic is removed although it was written to since",
  expect: ["lost"],
  scenario: manyRemovals,
  store: around((store) => async (call, proceed) => {
    if (call.name !== "registry.removeTopic") return proceed();
    const [topic] = call.args;
    return store.registry.removeTopic(
      topic,
      (await store.log.heads(topic)).map(({ head }) => head),
    );
  }),
};

const seqsFromTheStart: Mutant = {
  name: "seqs-from-the-start",
  says: "a topic that comes back counts its events anew",
  expect: ["seq-gap"],
  scenario: manyRemovals,
  store: around(() => {
    const ends = new Map<string, number>();
    return async (call, proceed) => {
      if (call.name === "log.trim") ends.set(`${call.args[0]}/${call.args[1]}`, call.args[2]);
      if (call.name !== "log.append") return proceed();
      const result = (await proceed()) as AppendResult;
      const [topic, partition, drafts] = call.args;
      const end = ends.get(`${topic}/${partition}`) ?? 0;
      const events = result.events.map(
        ({ seq }, i) => new StoredEvent(topic, partition, seq - end, drafts[i] as EventDraft),
      );
      return { ...result, events } satisfies AppendResult;
    };
  }),
};

export const STORE_MUTANTS: readonly Mutant[] = [
  noEpochCheck,
  unfencedDeadLetter,
  unfencedTransaction,
  ackBeforeStored,
  seqGap,
  idAcceptedTwice,
  deadLetterWithNewId,
  sharedCursor,
  cursorBeforeDocuments,
  sameEpoch,
  cursorLostOnRelease,
  readSkips,
  deadOwnerKeepsLease,
  removalTakesMore,
  removalOfWritten,
  seqsFromTheStart,
];
