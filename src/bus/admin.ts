/** Looking after a bus: what is where, how far behind, and why. */
import { type Blocked, blockedIn } from "../consume/blocked.js";
import { BusError } from "../model/errors.js";
import type { GroupPosition } from "../model/event-bus.js";
import { checkOptionNames } from "../model/known-options.js";
import { mapInTurns } from "../model/map-in-turns.js";
import { type TopicRef, topicName } from "../model/topic.js";
import { type GroupRef, type GroupState, groupKey, type Lease } from "../ports/groups.js";
import type { PartitionHead } from "../ports/log.js";
import { refuseInUse } from "../project/group-in-use.js";
import { removeGroup } from "../project/group-pause.js";
import { SNAPSHOT_GROUP } from "../project/history/expected-lag.js";
import { restingGroups } from "../project/views/resting-groups.js";
import { blockedElsewhere } from "./blocked-elsewhere.js";
import type { BusCore } from "./core.js";
import { partitionPositions } from "./cursors.js";
import { countUnsettled, type RemovedGroup, refuseFeeder } from "./group-removal.js";
import { type RemovedTopic, type RemoveTopicOptions, removeTopic } from "./topic-removal.js";

/** A group on a topic, which is given by its name or its definition. */
export interface GroupOnTopic {
  readonly topic: TopicRef;
  readonly group: string;
}

/** How far a group is behind in one partition. */
export interface PartitionLag {
  readonly partition: number;
  readonly floor: number;
  readonly head: number;
  /** Events not settled. */
  readonly lag: number;
  /** Age of the oldest of them. */
  readonly lagSeconds: number;
  readonly inFlight: number;
  readonly owner: string | null;
  readonly epoch: number;
  /** What the store says of the events that come next, if these are damaged: nothing is delivered beyond them (P14). */
  readonly damage?: string;
}

/** How far a group is behind on a topic, and who its members are. */
export interface GroupLag extends GroupRef {
  /** Who paused it, and when. */
  readonly paused?: { readonly by: string; readonly sinceMs: number };
  /** It fed the build of a view that a rebuild replaced, and is kept for the way back: nobody runs it, and its lag means nothing. */
  readonly resting?: true;
  readonly lag: number;
  readonly lagSeconds: number;
  readonly members: readonly string[];
  readonly partitions: readonly PartitionLag[];
}

/** What holds a partition of a group up. */
export interface BlockedPartition extends Blocked {
  readonly partition: number;
}

/** A key whose newer events wait among the dead letters behind one that the group gave up. */
export interface HeldKeyReport {
  readonly partition: number;
  readonly key: string;
  /** How many of its events wait there. */
  readonly depth: number;
  readonly ageSeconds: number;
}

/** Why a group stands where it stands. */
export interface WhyReport extends GroupLag {
  readonly blocked: readonly BlockedPartition[];
  /** The deepest first. */
  readonly held: readonly HeldKeyReport[];
  /** The whole answer in a sentence or two. */
  readonly sentence: string;
}

/** What those who run a bus ask and do: where groups stand and why, pauses, moves, removals. */
export class Admin {
  readonly #core: BusCore;

  constructor(core: BusCore) {
    this.#core = core;
  }

  /** How far behind each group is; of one topic, of one group, or of all. */
  async lag(filter: Partial<GroupOnTopic> = {}): Promise<GroupLag[]> {
    checkOptionNames("lag", filter, ["topic", "group"]);
    await this.#core.ready();
    await this.#core.pauses.look();
    const topic = filter.topic === undefined ? undefined : topicName(filter.topic);
    const refs = await this.#core.settings.store.groups.list(topic);
    const wanted = refs.filter((ref) => filter.group === undefined || ref.group === filter.group);
    return this.#lags(wanted);
  }

  /** Nothing more is handed out to the group until it is resumed, in whatever process. False if it was paused already. */
  pause(of: GroupOnTopic, actor = "bus"): Promise<boolean> {
    return this.#setPaused(of, actor, true);
  }

  /** False if it was not paused. */
  resume(of: GroupOnTopic, actor = "bus"): Promise<boolean> {
    return this.#setPaused(of, actor, false);
  }

  /**
   * Forgets where a group stands on a topic; its dead letters stay. WRITE_CONFLICT while somebody is subscribed with it, in whatever
   * process, or if it feeds a view. Whoever subscribes under its name afterwards begins anew; whoever does so meanwhile goes on where
   * it stood.
   */
  async remove(of: GroupOnTopic, o: { actor?: string; dryRun?: boolean } = {}): Promise<RemovedGroup> {
    checkOptionNames("remove", o, ["actor", "dryRun"]);
    await this.#core.ready();
    const ref = refOf(of);
    const { topic, group } = ref;
    const { store, clock } = this.#core.settings;
    const state = await this.#stateOf(ref);
    refuseInUse(state);
    await refuseFeeder(store.registry, ref);
    const unsettled = await countUnsettled(store.log, state);
    if (o.dryRun) return { topic, group, removed: false, unsettled };
    await removeGroup(store, ref);
    await this.#core.pauses.look(true);
    const { actor = "bus" } = o;
    const details = { topic, unsettled, floors: state.leases.map(({ cursor }) => cursor.floor) };
    await store.registry.audit({ atMs: clock.now(), actor, action: "group.remove", target: group, details });
    return { topic, group, removed: true, unsettled };
  }

  /**
   * Removes a topic with all that belongs to it: its events, where its groups stand, its schemas, dead letters and snapshot. NOT_FOUND
   * if there is none; WRITE_CONFLICT while somebody is subscribed to it or a change feed publishes to it, in whatever process, or if it feeds
   * a view. Whoever publishes to it or defines it afterwards brings it back, with as many partitions, and its seqs go on; whoever
   * publishes meanwhile makes it stay: WRITE_CONFLICT. Many events take a while: `onProgress` tells how far it is, `signal` ends it early
   * (ABORTED), and removed again, the rest goes.
   *
   * @example
   * await bus.admin.removeTopic("orders.old", { dryRun: true });
   */
  async removeTopic(topic: TopicRef, o: RemoveTopicOptions = {}): Promise<RemovedTopic> {
    await this.#core.ready();
    return removeTopic(this.#core, topicName(topic), o);
  }

  /** NOT_FOUND if it has no cursor. */
  async #stateOf(ref: GroupRef): Promise<GroupState> {
    const { store, clock } = this.#core.settings;
    const state = await store.groups.state(ref, { nowMs: clock.now() });
    if (state === null) throw new BusError("NOT_FOUND", `${ref.topic} has no group ${ref.group}`);
    return state;
  }

  async #setPaused(of: GroupOnTopic, actor: string, paused: boolean): Promise<boolean> {
    await this.#core.ready();
    const ref = refOf(of);
    const { topic, group } = ref;
    const { store, clock } = this.#core.settings;
    const nowMs = clock.now();
    await this.#stateOf(ref);
    const pause = paused ? { topic, group, by: actor, sinceMs: nowMs } : null;
    const changed = await this.#core.pauses.set(ref, pause);
    const action = paused ? "group.pause" : "group.resume";
    if (changed)
      await store.registry.audit({ atMs: nowMs, actor, action, target: group, details: { topic } });
    return changed;
  }

  /** What holds a group up on a topic, for people. */
  async why(of: GroupOnTopic): Promise<WhyReport | null> {
    await this.#core.ready();
    const ref = refOf(of);
    const { store, clock } = this.#core.settings;
    await this.#core.pauses.look();
    const state = await store.groups.state(ref, { nowMs: clock.now() });
    if (state === null) return null;
    const lag = await this.#lagOf(ref, state, await store.log.heads(ref.topic), await this.#resting());
    const blocked: BlockedPartition[] = [];
    for (const lease of state.leases) blocked.push(...(await this.#blockedIn(ref, lease)));
    blocked.sort((a, b) => b.behind - a.behind || a.seq - b.seq);
    const held = state.leases.flatMap((lease) => this.#heldIn(ref, lease)).sort((a, b) => b.depth - a.depth);
    return { ...lag, blocked, held, sentence: sentenceOf(lag, blocked, held, clock.steady()) };
  }

  #heldIn(ref: GroupRef, { partition, epoch, cursor }: Lease): HeldKeyReport[] {
    const { clock } = this.#core.settings;
    const shell = this.#core.subscriptions.runner(ref)?.shells.get(partition);
    const held = shell?.epoch === epoch ? [...shell.state.heldKeys.values()] : (cursor.held ?? []);
    return held.map(({ key, depth, sinceMs }) => ({
      partition,
      key,
      depth,
      ageSeconds: Math.max(0, Math.round((clock.steady() - sinceMs) / 1_000)),
    }));
  }

  async #lags(refs: readonly GroupRef[]): Promise<GroupLag[]> {
    const { groups, log } = this.#core.settings.store;
    const nowMs = this.#core.settings.clock.now();
    const states = await mapInTurns(refs, async (ref) => ({
      ref,
      state: await groups.state(ref, { nowMs }),
    }));
    // Behind the cursors: no floor is above its head.
    const heads = await log.headsOf([...new Set(refs.map(({ topic }) => topic))]);
    const resting = await this.#resting();
    return await mapInTurns(states, ({ ref, state }) =>
      this.#lagOf(ref, state, heads.get(ref.topic) ?? [], resting),
    );
  }

  async #resting(): Promise<ReadonlySet<string>> {
    return new Set((await restingGroups(this.#core.settings.store.registry)).map(groupKey));
  }

  async #lagOf(
    ref: GroupRef,
    state: GroupState | null,
    heads: readonly PartitionHead[],
    resting: ReadonlySet<string>,
  ): Promise<GroupLag> {
    const runner = this.#core.subscriptions.runner(ref);
    const positions = state === null ? [] : partitionPositions(state, heads, runner);
    const partitions = await Promise.all(positions.map((position) => this.#withAge(ref, position)));
    const pause = this.#core.pauses.of(ref);
    const members = state?.members ?? [];
    return {
      ...ref,
      ...(members.length === 0 && resting.has(groupKey(ref)) && { resting: true }),
      ...(pause === undefined ? undefined : { paused: { by: pause.by, sinceMs: pause.sinceMs } }),
      lag: partitions.reduce((sum, p) => sum + p.lag, 0),
      lagSeconds: Math.max(0, ...partitions.map((p) => p.lagSeconds)),
      members,
      partitions,
    };
  }

  async #withAge(ref: GroupRef, position: GroupPosition["partitions"][number]): Promise<PartitionLag> {
    const { partition, floor, lag } = position;
    if (lag === 0) return { ...position, lagSeconds: 0 };
    try {
      return { ...position, lagSeconds: await this.#ageOf(ref.topic, partition, floor + 1) };
    } catch (error) {
      // Whoever looks after the bus needs the rest now more than ever. The last event before the damage tells the age.
      if (!BusError.is(error, "STORE_DAMAGED")) throw error;
      const lagSeconds = await this.#ageOf(ref.topic, partition, floor).catch(() => 0);
      return { ...position, lagSeconds, damage: error.message };
    }
  }

  /** How many seconds ago the event was published, or the first after it that is there; 0 if there is none. */
  async #ageOf(topic: string, partition: number, seq: number): Promise<number> {
    const { store, clock } = this.#core.settings;
    const { events } = await store.log.read(topic, partition, { after: Math.max(0, seq - 1), limit: 1 });
    const [first] = events;
    return first === undefined ? 0 : Math.max(0, Math.round(clock.now() - first.ts)) / 1_000;
  }

  /** Of partitions owned here as they are now; of others as their owner last wrote it down. */
  async #blockedIn(ref: GroupRef, lease: Lease): Promise<BlockedPartition[]> {
    const { partition, epoch } = lease;
    const shell = this.#core.subscriptions.runner(ref)?.shells.get(partition);
    if (shell?.epoch === epoch) return blockedIn(shell.state).map((blocked) => ({ partition, ...blocked }));
    const blocked = await blockedElsewhere(this.#core.settings.store.log, ref, lease);
    return blocked.map((one) => ({ partition, ...one }));
  }
}

function refOf(of: GroupOnTopic): GroupRef {
  if (typeof of !== "object" || of === null)
    throw new BusError("INVALID_OPTION", "a group is asked for as { topic, group }");
  return { topic: topicName(of.topic), group: of.group };
}

/** `nowMs`: on the steady clock, by which the next tries are set. */
function sentenceOf(
  lag: GroupLag,
  blocked: readonly BlockedPartition[],
  held: readonly HeldKeyReport[],
  nowMs: number,
): string {
  const { group, topic } = lag;
  const [worst] = blocked;
  const [deepest] = held;
  if (lag.lag === 0 && deepest !== undefined)
    return `${group} is up to date on ${topic} but holds ${count(held.length, "key")}: ${count(deepest.depth, "event")} of key ${deepest.key} ${deepest.depth === 1 ? "waits" : "wait"} among its dead letters to be redriven or discarded.`;
  if (lag.lag === 0) return `${group} is up to date on ${topic}.`;
  if (lag.resting)
    return `${group} rests: it fed the build that a rebuild replaced, and is kept for the way back.`;
  const behind = `${count(lag.lag, "event")} behind on ${topic}`;
  const hurt = lag.partitions.find(({ damage }) => damage !== undefined);
  if (hurt !== undefined)
    return `${group} is ${behind} and stands still in partition ${hurt.partition}: ${hurt.damage}.`;
  if (lag.paused !== undefined)
    return `${group} is ${behind} because ${lag.paused.by} paused it; it goes on when it is resumed.`;
  if (lag.members.length === 0 && group === SNAPSHOT_GROUP)
    return `${group} is upkeep, ${behind}: the compactor's next round takes it along.`;
  if (lag.members.length === 0)
    return `${group} is ${behind} because nobody is subscribed: it goes on as soon as a subscriber is there.`;
  const unowned = lag.partitions.filter((p) => p.owner === null && p.lag > 0);
  if (worst === undefined) {
    if (unowned.length > 0)
      return `${group} is ${behind}; ${count(unowned.length, "partition")} with waiting events ${unowned.length === 1 ? "changes" : "change"} hands.`;
    return `${group} is ${behind} and working through it; no event is failing.`;
  }
  const what = worst.key === undefined ? `event ${worst.id}` : `key \`${worst.key}\``;
  const tries =
    worst.maxAttempts === undefined
      ? count(worst.failures, "time")
      : `${worst.failures} of ${worst.maxAttempts} times`;
  const next = worst.running
    ? "; it is being tried now"
    : worst.retryAtMs === undefined || worst.retryAtMs <= nowMs
      ? ""
      : `; next try in ${Math.ceil((worst.retryAtMs - nowMs) / 1_000)} s`;
  const waiting =
    worst.behind > 0
      ? `; ${count(worst.behind, "event")} ${worst.behind === 1 ? "waits" : "wait"} behind it`
      : "";
  const others =
    blocked.length > 1
      ? ` ${count(blocked.length - 1, "other event")} ${blocked.length === 2 ? "is" : "are"} failing too.`
      : " Other keys are fine.";
  return `${group} is held up on ${topic}: ${what} failed ${tries}${worst.error === undefined ? "" : ` with "${worst.error}"`}${next}${waiting}.${others}`;
}

function count(n: number, noun: string): string {
  return `${n.toLocaleString("en-US")} ${noun}${n === 1 ? "" : "s"}`;
}
