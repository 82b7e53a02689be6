/**
 * Which events have had their effects elsewhere (what a handler emits, what it writes to views that others keep), when a
 * projector goes from one build of its views to another (P9). A rebuild takes events in without effects; where it was ahead of
 * the projector, that first goes on with the build before, up to where the rebuild had come. From then on whatever one build
 * has behind it has had its effects, and the other takes it in without them.
 */
import { pause } from "../../model/clock.js";
import type { Seq } from "../../model/event.js";
import type { GroupState } from "../../ports/groups.js";
import type { Host } from "../host.js";
import { buildGroup, type Keeper, keeperName } from "./kept-views.js";
import { numberOf, readPointer, type ViewPointer } from "./view-pointer.js";

/** By partition: events up to there. */
export type Floors = ReadonlyMap<number, Seq>;

const LOOK_MS = 50;
/** Longer than other processes take to notice that another build counts, or to be taken for dead. */
const LEAVING_MS = 30_000;
/** Longer than a projector takes from one build to another. */
const IDLE_MS = 2_000;

/** How far a build has come; null if nothing was ever built. */
export async function floorsOf(host: Host, keeper: Keeper, build: string): Promise<Floors | null> {
  return floorsIn(await stateOf(host, keeper, build));
}

function floorsIn(state: GroupState | null): Floors | null {
  return state && new Map(state.leases.map(({ partition, cursor }) => [partition, cursor.floor]));
}

function stateOf({ store, clock }: Host, keeper: Keeper, build: string): Promise<GroupState | null> {
  const ref = { topic: keeper.topic, group: buildGroup(keeper, build) };
  return store.groups.state(ref, { nowMs: clock.now() });
}

function isFed(state: GroupState | null): boolean {
  return state?.leases.some(({ owner, alive }) => owner !== null && alive) ?? false;
}

function isAhead(one: GroupState | null, other: GroupState | null): boolean {
  const floors = floorsIn(other);
  return one?.leases.some(({ partition, cursor }) => cursor.floor > (floors?.get(partition) ?? 0)) ?? false;
}

/** Of the events that come to `build`, those that have had their effects; null if meanwhile another build came to count. */
export async function effectsDone(
  host: Host,
  keeper: Keeper,
  build: string,
  signal: AbortSignal,
): Promise<Floors | null> {
  const name = keeperName(keeper);
  const { current, previous, replayed } = await readPointer(host.store.registry, name);
  const done = new Map<number, Seq>();
  for (const other of [current, previous]) {
    if (other === null || other === build) continue;
    if (!(await untilLeft(host, keeper, { other, current }, signal))) return null;
    const ahead = numberOf(other, name) === replayed?.number ? replayed.floors : [];
    for (const [partition, floor] of (await floorsOf(host, keeper, other)) ?? [])
      if (floor > (ahead[partition] ?? 0)) done.set(partition, Math.max(floor, done.get(partition) ?? 0));
  }
  return done;
}

/**
 * Waits until no other process feeds a build any more: what it has behind it stands still then. False if the one that counts
 * no longer does: then they need not leave.
 */
async function untilLeft(
  host: Host,
  keeper: Keeper,
  { other, current }: { readonly other: string; readonly current: string },
  signal: AbortSignal,
): Promise<boolean> {
  const { clock, store } = host;
  const endMs = clock.steady() + LEAVING_MS;
  while (clock.steady() < endMs) {
    const state = await stateOf(host, keeper, other);
    if (!isFed(state)) return true;
    await pause(clock, LOOK_MS, signal);
    const pointer = await readPointer(store.registry, keeperName(keeper));
    if (signal.aborted || pointer.current !== current) return false;
  }
  return true;
}

/** Says which build a projector is to feed: the one that counts, once nothing that it took in lacks its effects. */
export class FedBuild {
  readonly #host: Host;
  readonly #keeper: Keeper;
  /** Revision of the pointer under which nothing was lacking. */
  #settled = -1;

  constructor(host: Host, keeper: Keeper) {
    this.#host = host;
    this.#keeper = keeper;
  }

  async current(): Promise<string> {
    const pointer = await readPointer(this.#host.store.registry, keeperName(this.#keeper));
    const { current, previous, revision } = pointer;
    if (previous === null || revision === this.#settled) return current;
    if (this.#wasReplayed(pointer) && lacks(pointer, await floorsOf(this.#host, this.#keeper, previous)))
      return previous;
    this.#settled = revision;
    return current;
  }

  /**
   * Waits until the build before the one that counts tells nothing any more that this one does not: nobody feeds it, and it is
   * not ahead. False if nobody works on that.
   */
  async leftBehind(): Promise<boolean> {
    const { clock, store } = this.#host;
    let workedMs = clock.steady();
    for (const endMs = workedMs + LEAVING_MS; clock.steady() < endMs; await pause(clock, LOOK_MS)) {
      const pointer = await readPointer(store.registry, keeperName(this.#keeper));
      if (pointer.previous === null) return true;
      const now = await stateOf(this.#host, this.#keeper, pointer.current);
      const before = await stateOf(this.#host, this.#keeper, pointer.previous);
      const lacking =
        isAhead(before, now) || (this.#wasReplayed(pointer) && lacks(pointer, floorsIn(before)));
      if (!lacking && !isFed(before)) return true;
      if (isFed(before) || isFed(now)) workedMs = clock.steady();
      else if (clock.steady() > workedMs + IDLE_MS) return false;
    }
    return false;
  }

  /** Whether the build that counts is the one that a rebuild took events in for. */
  #wasReplayed({ current, replayed }: ViewPointer): boolean {
    return replayed?.number === numberOf(current, keeperName(this.#keeper));
  }
}

/** Whether a rebuild took in what the build before, which has come to `floors`, has not had the effects of. */
function lacks({ replayed }: ViewPointer, floors: Floors | null): boolean {
  if (floors === null || replayed === undefined) return false;
  return replayed.floors.some((floor, partition) => (floors.get(partition) ?? 0) < floor);
}
