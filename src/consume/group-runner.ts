/**
 * One (topic, group) inside this bus: joins the group, owns the partitions that fall to this bus, and lets its
 * workers share their events.
 *
 * Every change of members or leases leads to one look at the store's state and to the same answer on every member
 * (assignment.ts): partitions that should be another's are drained and released, those that should be ours are
 * claimed as soon as they are free. A partition changes hands only by lease and epoch (P7).
 */
import { type CancelTimer, within } from "../model/clock.js";
import { BusError } from "../model/errors.js";
import type { Seq } from "../model/event.js";
import type { Claim, GroupPartition, GroupRef, GroupState, Lease } from "../ports/groups.js";
import type { Log } from "../ports/log.js";
import { assignPartitions } from "./assignment.js";
import { DeliveryShell, type ShellOptions } from "./delivery-shell.js";
import { Dispatcher } from "./dispatcher.js";
import type { Membership, Participant } from "./membership.js";
import type { Worker } from "./worker.js";

/** How long closing waits for the store to hear of it. */
const LEAVE_MS = 1_000;

export interface RunnerOptions extends Omit<ShellOptions, "onReady" | "onStopped"> {
  readonly log: Log;
  readonly membership: Membership;
  readonly partitions: number;
  /** Whether somebody paused the group, as far as is known when it begins. */
  readonly paused: (ref: GroupRef) => boolean;
  /** How long a partition that is given up waits for what still runs. */
  readonly drainMs: number;
  /** How soon to look again at a partition that should be ours and is not free. */
  readonly retryClaimMs: number;
}

export class GroupRunner implements Participant {
  readonly ref: GroupRef;
  readonly dispatcher = new Dispatcher();
  readonly #options: RunnerOptions;
  readonly #shellOptions: ShellOptions;
  readonly #shells = new Map<number, DeliveryShell>();
  readonly #givingUp = new Map<DeliveryShell, Promise<void>>();
  /** Where the group stands, as this member last knew it. */
  #floors: Seq[] = [];
  #member = "";
  #reconciling: Promise<void> | null = null;
  #again = false;
  #closing = false;
  #cancelRetry: CancelTimer | null = null;

  constructor(ref: GroupRef, options: RunnerOptions) {
    this.ref = ref;
    this.#options = options;
    this.#shellOptions = shellOptions(options, this.dispatcher.offer, (stopped) => this.#stopped(stopped));
    this.dispatcher.setPaused(options.paused(ref));
  }

  /** Joins with these first positions, or known ones (index = partition); resolves once the first assignment is carried out. */
  async start(floors: readonly Seq[], o: { readonly known: boolean }): Promise<void> {
    const { groups, membership } = this.#options;
    this.#floors = [...floors];
    if (!o.known) await groups.start(this.ref, floors);
    this.#member = await membership.member();
    await membership.stay(this.ref);
    await groups.join(this.ref, this.#member);
    membership.add(this);
    this.changed();
    await this.#reconciling;
  }

  /** The partitions owned now. */
  get shells(): ReadonlyMap<number, DeliveryShell> {
    return this.#shells;
  }

  addWorker(worker: Worker): void {
    this.dispatcher.addWorker(worker);
  }

  /** Waits, up to the drain time, for what the worker still runs; the rest goes back. */
  async removeWorker(worker: Worker): Promise<void> {
    await this.#within(this.#options.drainMs, worker.leave());
    worker.giveBack("its subscriber left");
    this.dispatcher.removeWorker(worker);
  }

  /** Something about the group may be different now. */
  changed(): void {
    if (this.#closing) return;
    if (this.#reconciling !== null) {
      this.#again = true;
      return;
    }
    this.#reconciling = this.#reconcile().finally(() => {
      this.#reconciling = null;
      if (this.#again) {
        this.#again = false;
        this.changed();
      }
    });
  }

  async confirm(): Promise<void> {
    const state = await this.#options.groups.state(this.ref, { nowMs: this.#options.clock.now() });
    if (state !== null) this.#dropLost(state);
  }

  resume(): void {
    this.dispatcher.wake();
    this.changed();
  }

  /** Gives every partition back and leaves the group. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#cancelRetry?.();
    this.#options.membership.remove(this);
    await this.#reconciling;
    this.dispatcher.dropParked();
    await Promise.all([...this.#shells.values()].map((shell) => this.#giveUp(shell)));
    // Goes on behind the caller's back if the store is away for longer.
    await this.#within(
      LEAVE_MS,
      this.#options.membership.leave(this.ref, () => this.#leave()),
    );
  }

  async #leave(): Promise<void> {
    const { groups, clock } = this.#options;
    const state = await groups.state(this.ref, { nowMs: clock.now() });
    for (const lease of state?.leases ?? []) if (lease.owner === this.#member) await this.#giveBack(lease);
    await groups.leave(this.ref, this.#member);
  }

  async #reconcile(): Promise<void> {
    try {
      const state = await this.#options.groups.state(this.ref, { nowMs: this.#options.clock.now() });
      if (state !== null) await this.#carryOut(state);
      else if (!this.#closing) await this.#beginAgain();
    } catch (error) {
      this.#trouble(error);
      this.#retrySoon();
    }
  }

  /**
   * Somebody removed the group while we joined it, or while we were taken for dead: whoever is subscribed would wait for events
   * that never come. It begins anew where it stood, as far as we know; a cursor that is there meanwhile stays (P15).
   */
  async #beginAgain(): Promise<void> {
    await this.#options.groups.start(this.ref, this.#floors);
    this.#again = true;
  }

  async #carryOut(state: GroupState): Promise<void> {
    const owners = new Array<string | null>(this.#options.partitions).fill(null);
    for (const lease of state.leases) if (lease.alive) owners[lease.partition] = lease.owner;
    this.#dropLost(state);
    const wanted = assignPartitions(state.members, owners, `${this.ref.topic}/${this.ref.group}`);
    for (const [partition, shell] of this.#shells) {
      if (wanted[partition] !== this.#member) void this.#giveUp(shell);
    }
    let missing = false;
    for (const lease of state.leases) {
      const { partition } = lease;
      if (this.#shells.has(partition) || this.#closing) continue;
      const owner = owners[partition];
      const ours = owner === this.#member;
      if (wanted[partition] !== this.#member) {
        if (ours) await this.#giveBack(lease);
      } else if (!(owner === null || ours) || !(await this.#claim(partition))) {
        missing = true;
      }
    }
    if (missing) this.#retrySoon();
  }

  /** Leases that were taken from us while we did not look. */
  #dropLost(state: GroupState): void {
    for (const lease of state.leases) {
      const shell = this.#shells.get(lease.partition);
      if (shell !== undefined && lease.epoch > shell.epoch) shell.fence();
    }
  }

  /**
   * A lease that was granted without our knowing (the reply got lost), or that we could not release. More may have been written
   * under it since the look that tells of it, or still be on its way: claimed anew, it tells what counts (P8).
   */
  async #giveBack({ partition }: Lease): Promise<void> {
    const { groups, clock } = this.#options;
    const ref = { ...this.ref, partition };
    const claim = await groups.claim(ref, this.#member, { nowMs: clock.now() });
    if (claim !== null) await this.#release(ref, claim);
  }

  async #release(ref: GroupPartition, { epoch, cursor }: Claim): Promise<void> {
    try {
      await this.#options.groups.release(ref, epoch, cursor);
    } catch (error) {
      if (!BusError.is(error, "LEASE_LOST")) throw error;
    }
  }

  async #claim(partition: number): Promise<boolean> {
    const { groups, clock, log } = this.#options;
    const { topic, group } = this.ref;
    const ref = { topic, group, partition };
    const claim = await groups.claim(ref, this.#member, { nowMs: clock.now() });
    if (claim === null) return false;
    const head = claim.clean ? 0 : ((await log.heads(this.ref.topic))[partition]?.head ?? 0);
    if (this.#closing) {
      await this.#release(ref, claim);
      return true;
    }
    this.#floors[partition] = claim.cursor.floor;
    const shell = new DeliveryShell(ref, claim, head, this.#shellOptions);
    this.#shells.set(partition, shell);
    return true;
  }

  #stopped(shell: DeliveryShell): void {
    if (this.#shells.get(shell.partition) === shell) this.#shells.delete(shell.partition);
    this.#floors[shell.partition] = shell.floor;
    this.changed();
  }

  #giveUp(shell: DeliveryShell): Promise<void> {
    let giving = this.#givingUp.get(shell);
    if (giving === undefined) {
      giving = this.#drain(shell).finally(() => this.#givingUp.delete(shell));
      this.#givingUp.set(shell, giving);
    }
    return giving;
  }

  /** Drains, then releases; after the drain time without waiting, and if the store is away, without releasing. */
  async #drain(shell: DeliveryShell): Promise<void> {
    shell.stop();
    await this.#within(this.#options.drainMs, shell.stopped);
    shell.halt();
    await this.#within(this.#options.drainMs, shell.stopped);
    shell.fence();
  }

  #within(ms: number, done: Promise<void>): Promise<void> {
    return within(this.#options.clock, ms, done);
  }

  #retrySoon(): void {
    if (this.#closing || this.#cancelRetry !== null) return;
    this.#cancelRetry = this.#options.clock.setTimer(this.#options.retryClaimMs, () => {
      this.#cancelRetry = null;
      this.changed();
    });
  }

  #trouble(error: unknown): void {
    this.#options.onTrouble(BusError.from(error, "STORE_UNAVAILABLE"), { ...this.ref, partition: -1 });
  }
}

/**
 * Member by member: V8 gives an object that is spread and added to a hidden class of its own, and among a thousand topics
 * everything that is read from them would be searched for anew with every event.
 */
function shellOptions(
  options: RunnerOptions,
  onReady: ShellOptions["onReady"],
  onStopped: ShellOptions["onStopped"],
): ShellOptions {
  const { clock, groups, tail, step, policy, pageSize, meters, holdsLeases, bury, onTrouble, onFailedTry } =
    options;
  return {
    clock,
    groups,
    tail,
    step,
    policy,
    pageSize,
    meters,
    holdsLeases,
    bury,
    onTrouble,
    onFailedTry,
    onReady,
    onStopped,
  };
}
